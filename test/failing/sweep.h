// A scenario is a function that uses Cairn and says what is wrong. It is run once for every request for memory that it makes, and
// in each run another one is refused; whatever happens, afterwards everything must be as it was before.
#pragma once

#include "cairn.h"

#include "test/failing/allocations.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace failing {

// What is refused.
enum class Kind { memory, memory_and_all_behind, charge, write };

// One run of a scenario.
struct Run {
  Kind kind = Kind::memory;
  std::uint64_t n = 0;       // the request that is refused, or the write to a file; 0: none
  std::uint64_t charges = 0; // requests on heaps, so far
  bool failed = false;       // some function has failed, as it may
  std::vector<std::string> wrong;

  // Calls a function of Cairn. False if it failed for want of memory, as it may where something is refused; another failure is
  // wrong.
  template <class F> bool did(const char* what, F&& f) {
    cairn_status status = CAIRN_OK;
    {
      Inside inside;
      status = f();
    }
    return judged(what, status);
  }
  bool judged(const char* what, cairn_status status);
  void complain(const std::string& what) { wrong.push_back(what); }
  void check(bool holds, const char* what) {
    if (!holds) complain(what);
  }
  // From here on nothing is refused: what follows must succeed. (The disk remains full.)
  void no_more();
  bool refuses() const { return n != 0 && !over_; }

  // A machine that is part of the scenario; its heap refuses from now on.
  void watch(cairn_vm* vm);
  void ends(cairn_vm* vm); // before it is freed

private:
  std::vector<cairn_vm*> machines_;
  bool over_ = false;
};

struct Scenario {
  std::string name;
  std::function<void(Run&)> run;
  bool spills = false; // into a file that may be full
};

struct Limits {
  double seconds = 0.2;             // for each scenario and kind; 0: every request, however long it takes
  std::uint64_t every = UINT64_MAX; // scenarios with so many requests are swept in strides, whatever `seconds` says
};

struct Outcome {
  std::uint64_t requests = 0, runs = 0, wrong = 0;
  bool complete = true; // every request was refused once
};
Outcome sweep(const Scenario& scenario, Kind kind, const Limits& limits);

} // namespace failing
