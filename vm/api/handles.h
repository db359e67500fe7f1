// What stands behind the handles of cairn.h.
#pragma once

#include "vm/api/border.h"
#include "vm/api/trace.h"
#include "vm/machine/engine.h"
#include "vm/runs/operators.h"

#include <memory>
#include <string>
#include <vector>

struct cairn_vm {
  // empty: no program; ready: it can run or be saved; done: it has ended well; failed: it has ended with an error.
  enum class Stage { empty, ready, done, failed };
  cairn_vm(cairn::machine::Options options, void* user_pointer)
      : engine(std::move(options), cairn::runs::kOperators), user(user_pointer) {}

  std::unique_ptr<cairn::api::Trace> trace; // the machine's device tells it, to its end
  cairn::machine::Engine engine;
  void* user;
  Stage stage = Stage::empty;
  bool running = false; // inside cairn_vm_run: its callbacks may not call functions that change the machine
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

// Makes a value for the host. Its serial is 0 and the program's serial counter stays: so the value is older than every tape, and
// the serials of a replay are the same without it.
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

// Sets the stage after a run with this outcome; or after one that `guard` says has failed, with the message `fault` (taken over).
// Gives the status for the host.
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
