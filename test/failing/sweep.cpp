// See sweep.h.
#include "test/failing/sweep.h"

#include "vm/api/handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace failing {

bool Run::judged(const char* what, cairn_status status) {
  if (status == CAIRN_OK) return true;
  const bool expected = refuses() && (status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY ||
                                      (kind == Kind::write && status == CAIRN_NO_FILE)); // the file that was to be saved
  if (!expected) complain(fmt::format("{}: status {}", what, static_cast<int>(status)));
  failed = true;
  return false;
}

namespace {

std::uint64_t charges_of([[maybe_unused]] cairn_vm* vm, [[maybe_unused]] std::uint64_t refuse) {
#ifndef NDEBUG
  return vm->engine.heap().refuse_request(refuse);
#else
  return 0;
#endif
}

} // namespace

// Requests are counted over all machines together: each is told how many are left when it begins.
void Run::watch(cairn_vm* vm) {
  for (cairn_vm* other : machines_) charges += charges_of(other, 0);
  machines_.push_back(vm);
  charges_of(vm, kind == Kind::charge && refuses() && n > charges ? n - charges : 0);
}

void Run::ends(cairn_vm* vm) {
  charges += charges_of(vm, 0);
  std::erase(machines_, vm);
}

void Run::no_more() {
  for (cairn_vm* vm : machines_) charges += charges_of(vm, 0);
  if ((kind == Kind::memory || kind == Kind::memory_and_all_behind) && n != 0) set_refusals({});
  over_ = true;
}

namespace {

std::uint64_t once(const Scenario& scenario, Kind kind, std::uint64_t n, std::vector<std::string>& wrong) {
  Run run;
  run.kind = kind;
  run.n = n;
  const bool memory = kind == Kind::memory || kind == Kind::memory_and_all_behind;
  set_refusals(memory ? Refusals{n, kind == Kind::memory_and_all_behind} : Refusals{});
  set_refused_write(kind == Kind::write ? n : 0);
  scenario.run(run);
  const std::uint64_t made = kind == Kind::charge ? run.charges : memory ? requests() : writes();
  set_refusals({});
  set_refused_write(0);
  wrong.insert(wrong.end(), run.wrong.begin(), run.wrong.end());
  return made;
}

const char* name_of(Kind kind) {
  switch (kind) {
  case Kind::memory:
    return "allocation";
  case Kind::memory_and_all_behind:
    return "allocations from";
  case Kind::write:
    return "write";
  case Kind::charge:
    break;
  }
  return "charge";
}

} // namespace

Outcome sweep(const Scenario& scenario, Kind kind, const Limits& limits) {
  using Clock = std::chrono::steady_clock;
  Outcome out;
  auto report = [&](std::uint64_t n, const std::string& what) {
    if (out.wrong++ < 5) fmt::print("{}: {} {}: {}\n", scenario.name, name_of(kind), n, what);
  };
  // Caches fill; then the same run must leave as many blocks as it found.
  std::vector<std::string> wrong;
  once(scenario, kind, 0, wrong);
  auto before = Clock::now();
  out.requests = once(scenario, kind, 0, wrong);
  double took = std::chrono::duration<double>(Clock::now() - before).count();
  for (const std::string& w : wrong) report(0, w);
  if (!wrong.empty()) return out;

  std::uint64_t stride = 1;
  if (limits.seconds != 0) {
    double most = std::max(1.0, limits.seconds / std::max(took, 1e-6));
    stride = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(out.requests) / most));
  }
  if (out.requests > limits.every) stride = std::max(stride, (out.requests + limits.every - 1) / limits.every);
  if (stride > 1) stride |= 1; // not in step with what allocates in pairs
  out.complete = stride == 1;
  auto begin = Clock::now();
  for (std::uint64_t n = 1; n <= out.requests; n += stride) {
    if (limits.seconds != 0 && stride > 1 && std::chrono::duration<double>(Clock::now() - begin).count() > 3 * limits.seconds)
      break;
    ++out.runs;
    std::int64_t blocks = live_blocks();
    wrong.clear();
    once(scenario, kind, n, wrong);
    for (const std::string& w : wrong) report(n, w);
    // Up to three times more: a cache grows once, a leak each time.
    for (int again = 0; live_blocks() > blocks; ++again) {
      if (again == 3) {
        remember_blocks();
        once(scenario, kind, n, wrong);
        report(n, fmt::format("{} blocks leak\n{}", live_blocks() - blocks, new_blocks()));
        break;
      }
      blocks = live_blocks();
      once(scenario, kind, n, wrong);
    }
  }
  return out;
}

} // namespace failing
