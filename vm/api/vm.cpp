// Machines of cairn.h: a machine::Machine, the callbacks it was given, and what the header says may be called when.
#include "vm/api/border.h"
#include "vm/api/memory.h"
#include "vm/machine/environment.h"
#include "vm/machine/machine.h"
#include "vm/schedule/schedule.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

using cairn::api::copy_out;
using cairn::api::fail;
using cairn::api::guarded;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::machine::Machine;
using cairn::machine::Options;
using cairn::machine::ProgramError;
using cairn::machine::Status;

struct cairn_vm {
  // A machine without program; one that can run or be saved; one that ended well; one that cannot go on.
  enum class Stage { empty, ready, done, failed };

  explicit cairn_vm(Options options) : machine(std::move(options)) {}

  Machine machine;
  Stage stage = Stage::empty;
  std::string fault; // why it failed, when not the machine but the library or the system is to blame
  std::chrono::steady_clock::duration wall{};
};

namespace {

// Accounts are signed; a budget beyond their range is none.
std::int64_t budget_of(std::uint64_t memory_bytes) {
  if (memory_bytes == 0) memory_bytes = cairn_default_memory();
  return memory_bytes > static_cast<std::uint64_t>(INT64_MAX) ? 0 : static_cast<std::int64_t>(memory_bytes);
}

Options inner_options(const cairn_vm_options& given) {
  require(given.struct_size == sizeof(cairn_vm_options), "cairn_vm_create: options were not set up with cairn_vm_options_init");
  require(given.argument_count == 0 || given.arguments != nullptr, "cairn_vm_create: arguments is NULL");
  Options options;
  options.memory_bytes = budget_of(given.memory_bytes);
  options.seed = given.seed;
  if (given.schedule != nullptr) options.schedule = given.schedule;
  cairn::schedule::Spec spec;
  std::string message;
  if (!cairn::schedule::parse(options.schedule, spec, message)) throw Refusal{CAIRN_BAD_ARGUMENT, message};
  for (std::size_t i = 0; i < given.argument_count; ++i) options.arguments.emplace_back(given.arguments[i]);
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
  if (given.explain != nullptr)
    options.explain = [report = given.explain, user](std::string_view text) { report(user, text.data(), text.size()); };
  return options;
}

cairn_status run(cairn_vm& vm, std::uint64_t steps) {
  switch (vm.machine.run(steps)) {
  case Status::done:
    vm.stage = cairn_vm::Stage::done;
    return CAIRN_OK;
  case Status::out_of_steps:
    return CAIRN_OUT_OF_STEPS;
  case Status::error:
    vm.stage = cairn_vm::Stage::failed;
    return CAIRN_PROGRAM_ERROR;
  case Status::over_budget:
    vm.stage = cairn_vm::Stage::failed;
    return CAIRN_OVER_BUDGET;
  }
  return CAIRN_INTERNAL;
}

} // namespace

void cairn_vm_options_init(cairn_vm_options* options) {
  if (options == nullptr) return;
  *options = cairn_vm_options{};
  options->struct_size = sizeof(cairn_vm_options);
}

cairn_status cairn_vm_create(const cairn_vm_options* options, cairn_vm** vm, char** error) {
  if (vm != nullptr) *vm = nullptr;
  return guarded(error, [&] {
    require(vm != nullptr, "cairn_vm_create: vm is NULL");
    cairn_vm_options defaults;
    cairn_vm_options_init(&defaults);
    *vm = new cairn_vm(inner_options(options == nullptr ? defaults : *options));
  });
}

cairn_status cairn_vm_load(cairn_vm* vm, const cairn_module* module, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && module != nullptr, "cairn_vm_load: an argument is NULL");
    require(vm->stage == cairn_vm::Stage::empty, "cairn_vm_load: the machine has a program already");
    vm->stage = cairn_vm::Stage::failed;
    std::string message;
    if (!vm->machine.load(module->module, message)) throw Refusal{CAIRN_BAD_MODULE, message};
    vm->stage = cairn_vm::Stage::ready;
  });
}

cairn_status cairn_vm_restore(cairn_vm* vm, const void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && (bytes != nullptr || size == 0), "cairn_vm_restore: an argument is NULL");
    require(vm->stage == cairn_vm::Stage::empty, "cairn_vm_restore: the machine has a program already");
    vm->stage = cairn_vm::Stage::failed;
    std::string message;
    if (!vm->machine.restore({static_cast<const std::byte*>(bytes), size}, message)) throw Refusal{CAIRN_BAD_CAPSULE, message};
    vm->stage = cairn_vm::Stage::ready;
  });
}

cairn_status cairn_vm_run(cairn_vm* vm, uint64_t steps) {
  if (vm == nullptr || vm->stage != cairn_vm::Stage::ready) return CAIRN_BAD_ARGUMENT;
  auto start = std::chrono::steady_clock::now();
  cairn_status status = CAIRN_INTERNAL;
  char* fault = nullptr;
  cairn_status guard = guarded(&fault, [&] { status = run(*vm, steps); });
  if (guard != CAIRN_OK) {
    vm->stage = cairn_vm::Stage::failed;
    status = guard;
    try {
      vm->fault = fault == nullptr ? "" : fault;
    } catch (const std::bad_alloc&) {
      vm->fault.clear();
    }
    cairn_free(fault);
  }
  vm->wall += std::chrono::steady_clock::now() - start;
  return status;
}

cairn_status cairn_vm_error(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_error: an argument is NULL");
    *text = nullptr;
    require(vm->stage == cairn_vm::Stage::failed, "cairn_vm_error: there was no error");
    *text = copy_out(vm->fault.empty() ? vm->machine.error().rendered() : "error: " + vm->fault + "\n");
  });
}

cairn_status cairn_vm_result(const cairn_vm* vm, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_vm_result: an argument is NULL");
    *text = nullptr;
    require(vm->stage == cairn_vm::Stage::done, "cairn_vm_result: the program has not ended");
    *text = copy_out(vm->machine.result_text());
  });
}

uint64_t cairn_vm_steps(const cairn_vm* vm) {
  if (vm == nullptr || vm->stage == cairn_vm::Stage::empty) return 0;
  std::uint64_t steps = 0;
  guarded(nullptr, [&] { steps = vm->machine.statistics().steps; });
  return steps;
}

uint64_t cairn_vm_output_bytes(const cairn_vm* vm) {
  if (vm == nullptr || vm->stage == cairn_vm::Stage::empty) return 0;
  std::uint64_t bytes = 0;
  guarded(nullptr, [&] { bytes = vm->machine.output_bytes(); });
  return bytes;
}

cairn_status cairn_vm_statistics(const cairn_vm* vm, char** json) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && json != nullptr, "cairn_vm_statistics: an argument is NULL");
    *json = nullptr;
    cairn::machine::Statistics s = vm->machine.statistics();
    // Without any gradient nothing was replayed: the factor is that of a plain run.
    double replay =
        s.gradient_steps == 0 ? 1.0 : static_cast<double>(s.gradient_steps_executed) / static_cast<double>(s.gradient_steps);
    nlohmann::ordered_json figures = {
        {"steps", s.steps},
        {"gradient_steps", s.gradient_steps},
        {"gradient_steps_executed", s.gradient_steps_executed},
        {"replay_factor", replay},
        {"wall_s", std::chrono::duration<double>(vm->wall).count()},
        {"heap_peak_bytes", s.heap_peak_bytes},
        {"tape_peak_bytes", s.tape_peak_bytes},
        {"tape_peak_records", s.tape_peak_records},
        {"capsules_peak", s.capsules_peak},
        {"capsule_peak_bytes", s.capsule_peak_bytes},
        {"capsules_taken", s.capsules_taken},
        {"tensor_peak_bytes", s.tensor_peak_bytes},
        {"rss_peak_bytes", cairn::api::peak_resident_bytes()},
        {"schedule", s.schedule},
    };
#ifndef NDEBUG
    figures["live_objects_at_exit"] = s.live_objects_at_exit;
#endif
    *json = copy_out(figures.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
  });
}

cairn_status cairn_vm_save(const cairn_vm* vm, void** bytes, size_t* size) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && bytes != nullptr && size != nullptr, "cairn_vm_save: an argument is NULL");
    *bytes = nullptr;
    *size = 0;
    require(vm->stage == cairn_vm::Stage::ready, "cairn_vm_save: the machine does not stand between two runs");
    auto saved = vm->machine.save();
    *bytes = copy_out(saved.data(), saved.size());
    *size = saved.size();
  });
}

void cairn_vm_free(cairn_vm* vm) { delete vm; }
