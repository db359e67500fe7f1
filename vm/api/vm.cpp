// Machines of cairn.h: made, given a program, run, stopped, saved. What may be called when is decided here.
#include "ops/devices/devices.h"
#include "vm/api/interruptible.h"
#include "vm/api/memory.h"
#include "vm/api/saving.h"
#include "vm/bytecode/file.h"
#include "vm/files/descriptor.h"
#include "vm/image/image.h"
#include "vm/runs/recording.h"
#include "vm/schedule/schedule.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

using cairn::api::copy_out;
using cairn::api::fail;
using cairn::api::guarded;
using cairn::api::interruptible;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::machine::Options;
using cairn::machine::ProgramError;
using cairn::machine::Status;
using Stage = cairn_vm::Stage;

namespace {

// Accounts are signed; a budget beyond their range is none.
std::int64_t budget_of(std::uint64_t memory_bytes) {
  if (memory_bytes == 0) memory_bytes = cairn_default_memory();
  return memory_bytes > static_cast<std::uint64_t>(INT64_MAX) ? 0 : static_cast<std::int64_t>(memory_bytes);
}

// A limit beyond what is there is no fault: it may be there when it is needed.
std::int64_t spill_bytes_of(const cairn_vm_options& given) {
  if (given.spill == nullptr) return 0;
  std::string message;
  const std::int64_t free = cairn::ops::free_bytes_in(given.spill, message);
  if (!message.empty()) throw Refusal{CAIRN_BAD_ARGUMENT, "spill: " + message};
  if (given.spill_bytes == 0) return free / 4 * 3;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  return static_cast<std::int64_t>(std::min(given.spill_bytes, kMost));
}

cairn::machine::SpillEncoding spill_encoding_of(const cairn_vm_options& given) {
  using When = cairn::machine::SpillEncoding;
  const std::string_view text = given.spill_encoding == nullptr ? "auto" : given.spill_encoding;
  if (text == "always") return When::always;
  if (text == "never") return When::never;
  if (text != "auto") throw Refusal{CAIRN_BAD_ARGUMENT, fmt::format("spill-encoding: auto, always or never, not \"{}\"", text)};
  return When::by_cost;
}

Options inner_options(const cairn_vm_options& given) {
  require(given.struct_size == sizeof(cairn_vm_options), "cairn_vm_create: options were not set up with cairn_vm_options_init");
  require(given.argument_count == 0 || given.arguments != nullptr, "cairn_vm_create: arguments is NULL");
  Options options;
  if (std::string message; given.device != nullptr) {
    if (!cairn::ops::parse_devices(given.device, options.more_devices, message))
      throw Refusal{CAIRN_BAD_ARGUMENT, "device: " + message};
    options.device = std::move(options.more_devices.front());
    options.more_devices.erase(options.more_devices.begin());
  }
  options.memory_bytes = budget_of(given.memory_bytes);
  options.memory_asked = given.memory_bytes != 0 && given.memory_bytes != CAIRN_UNLIMITED;
  options.output_limit = given.output_bytes;
  options.one_shot = given.one_shot != 0;
  options.check_nan = given.check_nan != 0;
  options.profile = given.profile != 0;
  if (const cairn_allocator* a = given.allocator) {
    require(a->allocate != nullptr && a->release != nullptr, "cairn_vm_create: an allocator has two functions");
    options.memory = {a->allocate, a->release, a->user};
  }
  options.seed = given.seed;
  if (given.schedule != nullptr) options.schedule = given.schedule;
  cairn::schedule::Spec spec;
  std::string message;
  if (!cairn::schedule::parse(options.schedule, spec, message)) throw Refusal{CAIRN_BAD_ARGUMENT, message};
  if (given.lossy != nullptr) options.lossy = given.lossy;
  if (cairn::machine::LossyPolicy policy; !parse(options.lossy, policy, message))
    throw Refusal{CAIRN_BAD_ARGUMENT, "lossy: " + message};
  if (given.costs != nullptr && !cairn::schedule::parse_costs(given.costs, options.costs, message))
    throw Refusal{CAIRN_BAD_ARGUMENT, "costs: " + message};
  options.spill_bytes = spill_bytes_of(given);
  options.spill_encoding = spill_encoding_of(given);
  for (std::size_t i = 0; i < given.argument_count; ++i) {
    require(given.arguments[i] != nullptr, "cairn_vm_create: one of the arguments is NULL");
    options.arguments.emplace_back(given.arguments[i]);
  }
  void* user = given.user;
  options.output = [write = given.output, user](std::string_view text) {
    if (write != nullptr && write(user, text.data(), text.size()) != 0) throw ProgramError("the output cannot be written");
  };
  options.input = [read = given.input, user](char* buffer, std::size_t capacity) -> std::size_t {
    if (read == nullptr) return 0;
    std::size_t got = read(user, buffer, capacity);
    if (got > capacity) throw ProgramError("the input cannot be read");
    return got;
  };
  if (given.report != nullptr)
    options.report = [report = given.report, user](std::span<const cairn::print::Reported> values) {
      std::vector<cairn_reported> given_out;
      for (const cairn::print::Reported& r : values) given_out.push_back({r.name.c_str(), r.value});
      if (report(user, given_out.data(), given_out.size()) != 0)
        throw cairn::print::WorldError("report: the host does not take it");
    };
  if (given.explain != nullptr)
    options.explain = [report = given.explain, user](std::string_view text) { report(user, text.data(), text.size()); };
  return options;
}

// At most `steps`, in slices between which a cancellation is seen. Slices are no part of the state: they change no result. They
// are short, since what comes next may be slower than what was: most steps take a nanosecond, some a hundred, and those that may
// take long ask for themselves.
void run(cairn_vm& vm, std::uint64_t steps, Status& status) {
  constexpr std::uint64_t kLeastSlice = 1000, kMostSlice = std::uint64_t{1} << 32;
  for (;;) {
    status = Status::cancelled;
    if (vm.engine.meter().take_cancellation()) return;
    std::uint64_t slice = std::min(steps, vm.slice);
    std::uint64_t start = cairn::api::ticks_now();
    status = vm.engine.run(slice);
    std::uint64_t took = cairn::api::ticks_now() - start;
    vm.ticks += took;
    if (status != Status::out_of_steps) return;
    if (steps != CAIRN_UNLIMITED) steps -= slice;
    if (steps == 0) return;
    double seconds = cairn::api::seconds_of(took);
    if (seconds < 0.0002) vm.slice = std::min(vm.slice * 2, kMostSlice);
    if (seconds > 0.0008) vm.slice = std::max(vm.slice / 2, kLeastSlice);
  }
}

// A file that belongs to another module than the machine's is refused; nothing has run yet, so the machine's own state can go.
// belongs(module): whether it holds that one; read(message): reads it.
template <class Belongs, class Read> void restore(cairn_vm& vm, Belongs&& belongs, Read&& read) {
  require(!vm.running && (vm.stage == Stage::empty || (vm.stage == Stage::ready && vm.fresh)),
          "the machine has run a program already");
  std::string message;
  if (vm.stage == Stage::ready) {
    std::vector<std::byte> own = cairn::bytecode::write_module(vm.engine.loaded.module);
    if (!belongs(own)) throw Refusal{CAIRN_BAD_CAPSULE, "the capsule belongs to another module"};
    vm.engine.end_program();
  }
  // What is refused leaves no state; the file's module may be there already.
  const auto left = [&] { return vm.engine.loaded.module.functions.empty() ? Stage::empty : Stage::failed; };
  bool restored = false;
  try {
    restored = read(message);
  } catch (...) {
    vm.stage = left();
    throw;
  }
  if (!restored) {
    vm.stage = left();
    throw Refusal{CAIRN_BAD_CAPSULE, message};
  }
  vm.stage = Stage::ready;
  vm.fresh = false;
}

void restore(cairn_vm& vm, std::span<const std::byte> file) {
  restore(
      vm, [&](std::span<const std::byte> module) { return cairn::image::belongs_to(file, module); },
      [&](std::string& message) { return cairn::image::read_image(vm.engine, file, message); });
}

// Where it is a pipe, which cannot be read twice, all of it is in memory first.
void restore(cairn_vm& vm, const std::string& path) {
  const cairn::files::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (file && fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode))
    return restore(
        vm, [&](std::span<const std::byte> module) { return cairn::image::belongs_to(vm.engine, file.number(), module); },
        [&](std::string& message) { return cairn::image::read_image(vm.engine, file.number(), message); });
  void* bytes = nullptr;
  size_t size = 0;
  char* error = nullptr;
  const cairn_status status = cairn_file_read(path.c_str(), &bytes, &size, &error);
  const std::unique_ptr<void, void (*)(void*)> content(bytes, cairn_free), message(error, cairn_free);
  if (status != CAIRN_OK) throw Refusal{status, error == nullptr ? "" : error};
  restore(vm, {static_cast<const std::byte*>(bytes), size});
}

void require_between_runs(const cairn_vm& vm) {
  require(vm.stage == Stage::ready && !vm.running, "the machine does not stand between two runs");
}

} // namespace

cairn_status cairn::api::failed(cairn_vm& vm, cairn_status status, const char* fault) {
  vm.stage = Stage::failed;
  vm.failure = status;
  try {
    vm.fault = fault == nullptr ? "" : fault;
  } catch (const std::bad_alloc&) {
    vm.fault.clear();
  }
  return status;
}

cairn_status cairn::api::run_machine(cairn_vm* vm, std::uint64_t steps) {
  if (vm == nullptr || vm->stage != Stage::ready || vm->running) return CAIRN_BAD_ARGUMENT;
  Status status = Status::out_of_steps;
  char* fault = nullptr;
  vm->running = true;
  vm->fresh = false;
  cairn_status guard = guarded(&fault, [&] { run(*vm, steps, status); });
  const bool ended = status == Status::done || status == Status::error || status == Status::over_budget;
  if (vm->engine.recorder != nullptr && ended) cairn::runs::record_rest(vm->engine);
  vm->running = false;
  const cairn_status concluded = cairn::api::concluded(*vm, guard, fault, status);
  if (vm->engine.recorder != nullptr && vm->stage == Stage::failed) cairn::runs::record_break(vm->engine);
  return concluded;
}

void cairn_vm_options_init(cairn_vm_options* options) {
  if (options == nullptr) return;
  *options = cairn_vm_options{};
  options->struct_size = sizeof(cairn_vm_options);
  options->output_bytes = CAIRN_UNLIMITED;
}

cairn_status cairn_vm_create(const cairn_vm_options* options, cairn_vm** vm, char** error) {
  if (vm != nullptr) *vm = nullptr;
  return guarded(error, [&] {
    require(vm != nullptr, "cairn_vm_create: vm is NULL");
    cairn_vm_options defaults;
    cairn_vm_options_init(&defaults);
    const cairn_vm_options& given = options == nullptr ? defaults : *options;
    auto made = std::make_unique<cairn_vm>(inner_options(given), given.user);
    if (given.spill != nullptr) {
      try {
        made->engine.spill_to(std::make_unique<cairn::ops::SpillFile>(given.spill, made->engine.options.spill_bytes));
      } catch (const cairn::ops::SpillError& e) {
        throw Refusal{CAIRN_BAD_ARGUMENT, std::string("spill: ") + e.what()};
      }
    }
    if (made->engine.options.device || !made->engine.options.more_devices.empty()) {
      try {
        made->engine.make_tensor_world();
      } catch (const std::runtime_error& e) {
        throw Refusal{CAIRN_BAD_ARGUMENT, std::string("device: ") + e.what()};
      }
    }
    *vm = made.release();
  });
}

void* cairn_vm_user(const cairn_vm* vm) { return vm == nullptr ? nullptr : vm->user; }

cairn_status cairn_vm_load(cairn_vm* vm, const cairn_module* module, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && module != nullptr, "cairn_vm_load: an argument is NULL");
    require(vm->stage == Stage::empty, "cairn_vm_load: the machine has a program already, or had one; make another");
    std::string message;
    if (!vm->engine.load(module->module, message)) throw Refusal{CAIRN_BAD_MODULE, message};
    vm->stage = Stage::ready;
  });
}

cairn_status cairn_vm_extend(cairn_vm* vm, const cairn_module* module, char** error) {
  if (vm != nullptr && vm->stage == Stage::empty) return cairn_vm_load(vm, module, error);
  return guarded(error, [&] {
    require(vm != nullptr && module != nullptr, "cairn_vm_extend: an argument is NULL");
    require(vm->idle(), "cairn_vm_extend: the machine runs something");
    require(!vm->engine.options.one_shot, "cairn_vm_extend: the machine was made for one program");
    std::string message;
    if (!vm->engine.extend(module->module, message)) throw Refusal{CAIRN_BAD_MODULE, message};
    vm->stage = Stage::ready;
  });
}

cairn_status cairn_vm_restore(cairn_vm* vm, const void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && (bytes != nullptr || size == 0), "cairn_vm_restore: an argument is NULL");
    restore(*vm, {static_cast<const std::byte*>(bytes), size});
  });
}

cairn_status cairn_vm_restore_file(cairn_vm* vm, const char* path, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && path != nullptr, "cairn_vm_restore_file: an argument is NULL");
    restore(*vm, path);
  });
}

cairn_status cairn_vm_resume(cairn_vm* vm, const cairn_capsule* capsule, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && capsule != nullptr, "cairn_vm_resume: an argument is NULL");
    restore(*vm, capsule->file);
  });
}

cairn_status cairn_vm_run(cairn_vm* vm, uint64_t steps) { return cairn::api::run_machine(vm, steps); }

cairn_status cairn_vm_grant(cairn_vm* vm, unsigned rights, const char* path, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && path != nullptr && *path != 0, "cairn_vm_grant: an argument is NULL or empty");
    require(rights != 0 && (rights & ~(CAIRN_GRANT_READ | CAIRN_GRANT_WRITE)) == 0,
            "cairn_vm_grant: rights are CAIRN_GRANT_READ, CAIRN_GRANT_WRITE or both");
    if (!vm->engine.files.grants.add(rights, path))
      throw Refusal{CAIRN_NO_FILE, std::string(path) + ": cannot be granted: " + std::strerror(errno)};
  });
}

cairn_status cairn_vm_reserve(cairn_vm* vm, const char* path, const char* holder, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && path != nullptr && *path != 0 && holder != nullptr && *holder != 0,
            "cairn_vm_reserve: an argument is NULL or empty");
    if (!vm->engine.files.reserved.add(path, holder))
      throw Refusal{CAIRN_NO_FILE, std::string(path) + ": cannot be reserved: " + std::strerror(errno)};
  });
}

void cairn_vm_limit_work(cairn_vm* vm, uint64_t work) {
  if (vm == nullptr) return;
  cairn::ops::Meter& meter = vm->engine.meter();
  meter.limit_work(work > UINT64_MAX - meter.work() ? UINT64_MAX : meter.work() + work);
}

void cairn_vm_cancel(cairn_vm* vm) {
  if (vm != nullptr) vm->engine.meter().cancel();
}

cairn_status cairn_vm_abandon(cairn_vm* vm) {
  if (vm == nullptr || vm->running || vm->stage != Stage::ready) return CAIRN_BAD_ARGUMENT;
  return guarded(nullptr, [&] {
    if (vm->engine.recorder != nullptr) cairn::runs::record_break(vm->engine);
    vm->engine.end_program();
    vm->engine.meter().take_cancellation();
    vm->engine.heap().release_all_set_aside();
    cairn::api::failed(*vm, CAIRN_CANCELLED, "the computation was given up");
  });
}

cairn_status cairn_vm_capsule(const cairn_vm* vm, cairn_capsule** capsule) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && capsule != nullptr, "cairn_vm_capsule: an argument is NULL");
    *capsule = nullptr;
    require_between_runs(*vm);
    auto made = std::make_unique<cairn_capsule>();
    interruptible(*vm, [&] { made->file = cairn::image::write_image(vm->engine); });
    *capsule = made.release();
  });
}

cairn_status cairn_capsule_write(const cairn_capsule* capsule, void** bytes, size_t* size) {
  return guarded(nullptr, [&] {
    require(capsule != nullptr && bytes != nullptr && size != nullptr, "cairn_capsule_write: an argument is NULL");
    *bytes = nullptr;
    *size = 0;
    *bytes = copy_out(capsule->file.data(), capsule->file.size());
    *size = capsule->file.size();
  });
}

cairn_status cairn_capsule_read(const void* bytes, size_t size, cairn_capsule** capsule, char** error) {
  if (capsule != nullptr) *capsule = nullptr;
  return guarded(error, [&] {
    require(capsule != nullptr && (bytes != nullptr || size == 0), "cairn_capsule_read: an argument is NULL");
    std::span<const std::byte> file{static_cast<const std::byte*>(bytes), size};
    std::string message;
    if (!cairn::image::is_whole_image(file, message)) throw Refusal{CAIRN_BAD_CAPSULE, message};
    *capsule = new cairn_capsule{{file.begin(), file.end()}};
  });
}

void cairn_capsule_free(cairn_capsule* capsule) { delete capsule; }

cairn_status cairn_vm_save(const cairn_vm* vm, void** bytes, size_t* size) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && bytes != nullptr && size != nullptr, "cairn_vm_save: an argument is NULL");
    *bytes = nullptr;
    *size = 0;
    require_between_runs(*vm);
    interruptible(*vm, [&] {
      const cairn::image::Image image(vm->engine);
      cairn::value::Heap& accounts = vm->engine.accounts();
      const cairn::value::Charged charged(accounts, accounts.scratch, static_cast<std::int64_t>(image.bytes()));
      std::unique_ptr<void, decltype(&cairn_free)> block(std::malloc(image.bytes()), &cairn_free);
      if (block == nullptr) throw std::bad_alloc();
      cairn::image::BlockSink sink({static_cast<std::byte*>(block.get()), image.bytes()});
      image.write(sink);
      *size = image.bytes();
      *bytes = block.release();
    });
  });
}

cairn_status cairn_vm_save_file(const cairn_vm* vm, const char* path, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && path != nullptr, "cairn_vm_save_file: an argument is NULL");
    require_between_runs(*vm);
    const auto save = [&] {
      const cairn::image::Image image(vm->engine);
      cairn::api::FileCalls calls;
      cairn::api::replace_file(
          path, [&image](cairn::image::ImageSink& sink) { image.write(sink); }, calls);
    };
    try {
      interruptible(*vm, save);
    } catch (const cairn::ops::ElementsLost& e) { // not of that file, but of one where they were put aside, or of the device
      throw Refusal{CAIRN_NO_FILE, std::string(path) + ": error: cannot be written: " + e.what() + "\n"};
    }
  });
}

void cairn_vm_free(cairn_vm* vm) { delete vm; }
