// How soon a step of a training can end that comes again and again, whatever is copied when (ops/plans/optimum.h).
//
//     streaming_bound PLAN.npy CAPACITY LATENCY BANDWIDTH...
//
// The plan is what get-streaming-plan gave of the step; picoseconds, and bytes a second in each direction. The answer is a line:
// what the launches take, and the least time of a step for each bandwidth, in picoseconds.
#include "ops/plans/optimum.h"
#include "ops/plans/plan_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using namespace cairn::ops::plans;

namespace {

[[noreturn]] void give_up(const std::string& fault) {
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::exit(1);
}

AccessPlan read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  if (all.size() < 10) give_up("no such file");
  const std::size_t header =
      10 + static_cast<unsigned char>(all[8]) + 256 * static_cast<std::size_t>(static_cast<unsigned char>(all[9]));
  std::vector<std::byte> bytes(all.size() - header);
  std::memcpy(bytes.data(), all.data() + header, bytes.size());
  std::string fault;
  std::optional<AccessPlan> plan = from_bytes(bytes, fault);
  if (!plan) give_up(fault);
  return std::move(*plan);
}

// So many steps, one behind the other. A parameter that is updated in place is another block in the plan of one step, since
// nothing in that may hang on counts of references; here it is the same, or else it would not be the next step's.
AccessPlan steps(const AccessPlan& plan, std::uint64_t count) {
  std::vector<bool> is_new(plan.blocks().size());
  for (std::uint32_t i = 0; i < is_new.size(); ++i) {
    const auto uses = plan.uses_of(i);
    is_new[i] =
        is_born(plan.blocks()[i].name) && uses.size() == 1 && uses[0] == Use::write_whole && plan.dropped(i) > plan.size();
  }
  Recorder recorder(plan.program());
  std::vector<Access> accesses;
  for (std::uint64_t step = 0; step < count; ++step) {
    const auto name = [&](std::uint32_t block) {
      const Name own = plan.blocks()[block].name;
      return is_born(own) ? own + (step << 48) : own;
    };
    for (std::size_t at = 0; at <= plan.size(); ++at) {
      for (const Change& change : plan.changes(at)) {
        if (is_new[change.block]) continue;
        if (change.made)
          recorder.made(name(change.block), plan.blocks()[change.block].bytes);
        else
          recorder.dropped(name(change.block));
      }
      if (at == plan.size()) break;
      accesses.clear();
      bool updates = std::ranges::any_of(plan.uses(at), [&](const PlannedUse& use) { return is_new[use.block]; });
      for (const PlannedUse& use : plan.uses(at)) {
        const PlannedBlock& block = plan.blocks()[use.block];
        if (is_new[use.block]) continue;
        const bool is_updated = updates && !is_born(block.name);
        updates = updates && !is_updated;
        accesses.push_back({name(use.block), block.bytes, is_updated ? Use::write_part : use.use});
      }
      recorder.launch(plan.duration(at), accesses);
    }
  }
  std::string fault;
  std::optional<AccessPlan> run = recorder.finish(fault);
  if (!run) give_up(fault);
  return std::move(*run);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const AccessPlan plan = read(argv[1]), two = steps(plan, 2), three = steps(plan, 3);
  std::printf("%llu", static_cast<unsigned long long>(plan.duration()));
  for (int i = 4; i < argc; ++i) {
    Memory memory;
    memory.capacity = std::strtoull(argv[2], nullptr, 10);
    const std::uint64_t rate = std::strtoull(argv[i], nullptr, 10);
    memory.link = {rate, rate, std::strtoull(argv[3], nullptr, 10)};
    std::printf(" %llu", static_cast<unsigned long long>(least_time(three, memory) - least_time(two, memory)));
  }
  std::printf("\n");
}
