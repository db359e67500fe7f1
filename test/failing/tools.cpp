// See tools.h.
#include "test/failing/tools.h"

#include "vm/api/handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace failing {

namespace {

Bytes copied(void* bytes, std::size_t size) {
  const auto* p = static_cast<const unsigned char*>(bytes);
  Bytes out(p, p + size);
  cairn_compiler_free(bytes);
  return out;
}

std::string taken(char* text) {
  std::string out = text == nullptr ? "" : text;
  cairn_compiler_free(text);
  return out;
}

cairn_compiler_options compiler_options(const std::vector<cairn_host_declaration>& hosts) {
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.hosts = hosts.data();
  options.host_count = hosts.size();
  return options;
}

} // namespace

Bytes compiled(const std::string& text, std::string& error, const std::vector<cairn_host_declaration>& hosts, const char* name) {
  cairn_compiler_options options = compiler_options(hosts);
  void* bytes = nullptr;
  std::size_t size = 0;
  char* message = nullptr;
  cairn_status status = cairn_compile(name, text.data(), text.size(), &options, &bytes, &size, &message);
  error = taken(message);
  return status == CAIRN_OK ? copied(bytes, size) : Bytes();
}

std::vector<Bytes> compiled_session(const std::vector<std::string>& texts, std::string& error,
                                    const std::vector<cairn_host_declaration>& hosts, const char* name) {
  cairn_compiler_options options = compiler_options(hosts);
  cairn_session* session = nullptr;
  std::vector<Bytes> out;
  if (cairn_session_create(&options, &session, nullptr) != CAIRN_OK) return out;
  for (const std::string& text : texts) {
    void* bytes = nullptr;
    std::size_t size = 0;
    char* message = nullptr;
    cairn_status status = cairn_session_compile(session, name, text.data(), text.size(), &bytes, &size, &message);
    error = taken(message);
    if (status != CAIRN_OK) {
      out.clear();
      break;
    }
    out.push_back(copied(bytes, size));
  }
  cairn_session_free(session);
  return out;
}

cairn_vm_options Machine::defaults() {
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.memory_bytes = std::uint64_t{256} << 20;
  return options;
}

namespace {

void* allocate_counted(void*, std::size_t bytes, std::size_t alignment) {
  return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
}
void release_counted(void*, void* memory, std::size_t) { ::operator delete (memory, std::align_val_t{16}); }
const cairn_allocator kCounted = {allocate_counted, release_counted, nullptr};

} // namespace

Machine::Machine(Run& run, cairn_vm_options options, bool own_memory) : run_(run) {
  options.user = this;
  options.output = [](void* user, const char* text, std::size_t bytes) {
    Outside outside;
    static_cast<Machine*>(user)->output.append(text, bytes);
    return 0;
  };
  options.input = [](void* user, char* buffer, std::size_t capacity) {
    auto* self = static_cast<Machine*>(user);
    std::size_t n = std::min(capacity, self->input.size() - self->input_at);
    std::memcpy(buffer, self->input.data() + self->input_at, n);
    self->input_at += n;
    return n;
  };
  options.report = [](void* user, const cairn_reported* values, std::size_t count) {
    Outside outside;
    for (std::size_t i = 0; i < count; ++i)
      static_cast<Machine*>(user)->reported +=
          fmt::format("{} {}{}", values[i].name, values[i].value, i + 1 < count ? ", " : "\n");
    return 0;
  };
  if (own_memory) options.allocator = &kCounted;
  if (run.did("cairn_vm_create", [&] { return cairn_vm_create(&options, &vm_, nullptr); })) run.watch(vm_);
}

Machine::~Machine() {
  if (vm_ == nullptr) return;
  run_.ends(vm_);
  // Everything that a run holds goes with it; what is left then are definitions and the text.
  cairn::machine::Engine& engine = vm_->engine;
  engine.drop_everything();
  cairn::value::Heap& heap = engine.heap();
  auto empty = [&](const char* what, std::int64_t left) {
    if (left != 0) run_.complain(fmt::format("{} {} left", left, what));
  };
  empty("bytes of tape", heap.tape.live);
  empty("bytes of capsules", heap.capsules.live);
  empty("bytes of tensors", heap.tensors.live);
  empty("capsules", heap.capsule_count);
  empty("bytes of snapshots", engine.snapshot_bytes);
  empty("objects", heap.live_objects());
  empty("bytes of scratch memory", engine.meter().taken());
  if (engine.tapes.copies() != 0) run_.complain("a tape's number is still in use");
  cairn_vm_free(vm_);
}

bool Machine::grant_files() {
  return run_.did("cairn_vm_grant", [&] { return cairn_vm_grant(vm_, CAIRN_GRANT_READ | CAIRN_GRANT_WRITE, ".", nullptr); }) &&
         run_.did("cairn_vm_reserve", [&] { return cairn_vm_reserve(vm_, "./reserved", "the host", nullptr); });
}
bool Machine::load(const cairn_module* module) {
  return run_.did("cairn_vm_load", [&] { return cairn_vm_load(vm_, module, nullptr); });
}
bool Machine::extend(const cairn_module* module) {
  return run_.did("cairn_vm_extend", [&] { return cairn_vm_extend(vm_, module, nullptr); });
}
bool Machine::run_on(std::uint64_t steps) {
  return run_.did("cairn_vm_run", [&] { return cairn_vm_run(vm_, steps); });
}

void Machine::probe(const cairn_module* module, const std::string& expected) {
  run_.no_more();
  output.clear();
  if (!extend(module) || !run_on()) return;
  if (output != expected) run_.complain("afterwards the machine writes " + output);
}

} // namespace failing
