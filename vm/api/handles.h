// What stands behind the handles of cairn.h.
#pragma once

#include "vm/api/border.h"
#include "vm/machine/engine.h"
#include "vm/runs/operators.h"

#include <memory>
#include <string>
#include <vector>

struct cairn_vm {
  // Without program; one that can run or be saved; idle after a good end; idle after an error.
  enum class Stage { empty, ready, done, failed };
  cairn_vm(cairn::machine::Options options, void* user_pointer) : engine(std::move(options), cairn::runs::kOperators), user(user_pointer) {}

  cairn::machine::Engine engine;
  void* user;
  Stage stage = Stage::empty;
  bool running = false; // inside cairn_vm_run: a callback may not come back
  bool fresh = true;    // has not run a step in this process
  cairn_status failure = CAIRN_OK;
  std::string fault;             // why it failed, when not the machine but the library or the system is to blame
  std::string complaint;         // of the host function that runs
  std::uint64_t slice = 100'000; // steps between two looks for a cancellation; follows the speed of the program
  std::uint64_t ticks = 0;       // spent running

  bool idle() const { return (stage == Stage::done || stage == Stage::failed) && !running; }
};

struct cairn_capsule {
  std::vector<std::byte> file;
};

namespace cairn::api {

inline cairn_value handed_out(value::Value v) { return {v.bits}; }
inline value::Value inner(cairn_value v) { return {v.bits}; }

// Objects made in here have no serial of the program's: they are older than every tape, and a replay does not miss them.
template <class Make> value::Value made_by_host(machine::Engine& engine, Make&& make) {
  std::uint64_t serial = engine.heap().next_serial;
  value::Value v = make();
  engine.heap().next_serial = serial;
  if (v.is_object()) value::object_of(v)->serial = 0;
  return v;
}

// The machine is idle after a failure, whose reason cairn_vm_error can tell: `fault`, or if that is null what the machine knows.
cairn_status failed(cairn_vm& vm, cairn_status status, const char* fault);

// cairn_vm_run.
cairn_status run_machine(cairn_vm* vm, std::uint64_t steps);

// The stage of the machine after a run that ended so; if `guard` is not CAIRN_OK, because of `fault` (taken over). The status to return.
inline cairn_status concluded(cairn_vm& vm, cairn_status guard, char* fault, machine::Status outcome) {
  if (guard != CAIRN_OK) {
    failed(vm, guard, fault);
    cairn_free(fault);
    return guard;
  }
  switch (outcome) {
  case machine::Status::done:
    vm.stage = cairn_vm::Stage::done;
    return CAIRN_OK;
  case machine::Status::error:
    return failed(vm, CAIRN_PROGRAM_ERROR, nullptr);
  case machine::Status::over_budget:
    return failed(vm, CAIRN_OVER_BUDGET, nullptr);
  case machine::Status::cancelled:
    return CAIRN_CANCELLED;
  case machine::Status::out_of_work:
    return CAIRN_OUT_OF_WORK;
  case machine::Status::out_of_steps:
    break;
  }
  return CAIRN_OUT_OF_STEPS;
}

// A clock that costs little to read; seconds_of turns differences into time.
std::uint64_t ticks_now();
double seconds_of(std::uint64_t ticks);

} // namespace cairn::api
