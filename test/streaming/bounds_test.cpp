// What is moved, beside the fewest bytes that can be moved: by linear programming for blocks of any sizes, by Belady's rule for
// those of one.
#include "test/streaming/runs.h"

#include "ops/plans/keeping.h"
#include "ops/plans/simulator.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;

namespace {

// As tools/golden/streaming_bounds.py writes it.
AccessPlan run_of(const nlohmann::json& run) {
  const auto leaves = run.at("leaves").get<std::uint64_t>();
  const auto& bytes = run.at("bytes");
  const auto name = [&](std::uint64_t block) { return block < leaves ? leaf_name(block) : born_name(block - leaves); };
  Recorder recorder(0);
  for (const auto& launch : run.at("launches")) {
    std::vector<Access> accesses;
    std::vector<Name> dropped;
    for (std::size_t i = 1; i < launch.size(); ++i) {
      if (launch[i].is_number()) {
        dropped.push_back(name(static_cast<std::uint64_t>(-1 - launch[i].get<std::int64_t>())));
        continue;
      }
      const auto block = launch[i][0].get<std::uint64_t>();
      accesses.push_back({name(block), bytes.at(block), static_cast<Use>(launch[i][1].get<int>())});
      if (accesses.back().use == Use::write_whole) recorder.made(accesses.back().name, accesses.back().bytes);
    }
    recorder.launch(launch[0], accesses);
    for (const Name gone : dropped) recorder.dropped(gone);
  }
  return finished(recorder);
}

} // namespace

TEST_CASE("along a plan hardly more bytes are moved than must be") {
  std::ifstream file(CAIRN_TEST_DATA "/streaming_bounds.json");
  const nlohmann::json runs = nlohmann::json::parse(file);
  REQUIRE(runs.size() >= 8);
  for (const auto& json : runs) {
    const AccessPlan run = run_of(json);
    for (const auto& bound : json.at("bounds")) {
      Memory memory;
      memory.capacity = bound.at("capacity");
      const auto least = bound.at("least").get<double>();
      const Foresight foresight = foresee(run, memory, Ending::once);
      const auto part = [&](Policy policy) {
        const Simulated did = simulate(run, nullptr, policy, memory, Ending::once, &foresight);
        REQUIRE_MESSAGE(did.failed.empty(), did.failed);
        return static_cast<double>(did.bytes_in + did.bytes_out) / least;
      };
      INFO(json.at("name"), " in ", memory.capacity, " bytes");
      CHECK(part(Policy::planned_on_demand) >= 1);
      CHECK(part(Policy::planned) <= 1.1);
      const Kept kept = worth_keeping(run, memory, Ending::once, 0);
      CHECK(static_cast<double>(kept.least) <= least + 1);
      CHECK(static_cast<double>(kept.least) >= 0.96 * least);
      CHECK(static_cast<double>(kept.bytes) >= least);
      CHECK(static_cast<double>(kept.bytes) <= 1.04 * least);
    }
  }
}
