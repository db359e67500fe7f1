// A recorded run under every policy of ops/plans, in virtual time.
//
//     streaming_plans CAPACITY BYTES-IN BYTES-OUT LATENCY FAULT LAPS < RUN
//
// Bytes a second and picoseconds. A run is the number of its leaves and the bytes of all blocks in the first line, then a line a
// launch: its picoseconds, its accesses as BLOCK:USE (0 reads, 1 writes the whole, 2 changes a part), and the blocks dropped
// behind it as -1 - BLOCK. It goes on for so many laps, each with blocks of its own; the plan is of one. The answer is a line a
// policy, and one with what Belady's rule copies in.
#include "ops/plans/optimum.h"
#include "ops/plans/simulator.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace cairn::ops::plans;

namespace {

struct Line {
  Picoseconds duration = 0;
  std::vector<std::pair<std::uint64_t, int>> uses;
  std::vector<std::uint64_t> dropped;
};

struct Run {
  std::uint64_t leaves = 0;
  std::vector<std::uint64_t> bytes;
  std::vector<Line> lines;
};

Run read(std::istream& in) {
  Run run;
  std::string text;
  std::getline(in, text);
  std::istringstream head(text);
  head >> run.leaves;
  for (std::uint64_t bytes = 0; head >> bytes;) run.bytes.push_back(bytes);
  while (std::getline(in, text)) {
    std::istringstream words(text);
    Line line;
    words >> line.duration;
    for (std::string word; words >> word;) {
      if (word.front() == '-')
        line.dropped.push_back(static_cast<std::uint64_t>(-1 - std::stoll(word)));
      else
        line.uses.emplace_back(std::stoull(word), std::stoi(word.substr(word.find(':') + 1)));
    }
    run.lines.push_back(std::move(line));
  }
  return run;
}

AccessPlan recorded(const Run& run, int laps) {
  Recorder recorder(0);
  for (int lap = 0; lap < laps; ++lap) {
    const auto name = [&](std::uint64_t block) {
      return block < run.leaves ? leaf_name(block) : born_name(block + static_cast<std::uint64_t>(lap) * run.bytes.size());
    };
    std::vector<Access> accesses;
    for (const Line& line : run.lines) {
      accesses.clear();
      for (const auto& [block, use] : line.uses) accesses.push_back({name(block), run.bytes.at(block), static_cast<Use>(use)});
      recorder.launch(line.duration, accesses);
      for (const std::uint64_t block : line.dropped) recorder.dropped(name(block));
    }
  }
  std::string fault;
  std::optional<AccessPlan> plan = recorder.finish(fault);
  if (!plan) {
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::exit(1);
  }
  return std::move(*plan);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  Memory memory;
  memory.capacity = std::strtoull(argv[1], nullptr, 10);
  memory.link = {std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10)};
  memory.fault = std::strtoull(argv[5], nullptr, 10);
  const int laps = std::atoi(argv[6]);
  const Run text = read(std::cin);
  const AccessPlan plan = recorded(text, 1), run = recorded(text, laps);
  const Ending ending = laps > 1 ? Ending::again : Ending::once;
  const Foresight foresight = foresee(plan, memory, ending);
  for (const Policy policy : {Policy::planned, Policy::planned_on_demand, Policy::demand, Policy::waiting,
                              Policy::unified_planned, Policy::unified_prefetched, Policy::unified}) {
    const Simulated did = simulate(run, &plan, policy, memory, ending, &foresight);
    if (!did.failed.empty()) {
      std::fprintf(stderr, "%s\n", did.failed.c_str());
      return 1;
    }
    const auto n = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
    std::printf("%s;%llu;%llu;%llu;%llu;%llu\n", std::string(name_of(policy)).c_str(), n(did.makespan), n(run.duration()),
                n(did.bytes_in), n(did.bytes_out), n(did.peak));
  }
  std::printf("Belady;0;0;%llu;0;0\n", static_cast<unsigned long long>(belady_bytes(run, memory.capacity).value_or(0)));
}
