// Runs on a real streaming device come to what the simulator says of them, whatever the policy: the same bytes are moved, and
// kernels end at the same time.
#include "../devices/testing.h"
#include "test/streaming/runs.h"

#include "ops/plans/simulator.h"
#include "ops/streaming/device.h"

#include <algorithm>
#include <unordered_map>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;
namespace ops = cairn::ops;
namespace streaming = cairn::ops::streaming;

namespace {

const ops::Operator kNothing = devices_testing::an_operator("nothing", [](const ops::KernelCall&) {});

ops::EmulatedOptions options_of(Policy policy, const Memory& memory) {
  ops::EmulatedOptions options;
  options.memory_bytes = static_cast<std::int64_t>(memory.capacity);
  options.streaming.policy = policy;
  options.rates.bytes_in = static_cast<double>(memory.link.bytes_in);
  options.rates.bytes_out = static_cast<double>(memory.link.bytes_out);
  options.rates.latency = static_cast<double>(memory.link.latency) * 1e-12;
  options.rates.launch = 0;
  options.rates.flops = 1e12; // a flop takes a picosecond
  return options;
}

// Makes the launches of a recorded run; a call that streams begins with every so many of them, where that is not 0.
class Replay {
public:
  Replay(const AccessPlan& run, Policy policy, const Memory& memory, std::size_t call = 0)
      : run_(run), device_(make_emulated_device(account_, options_of(policy, memory))),
        stream_(streaming::make_streaming_device(account_, *device_)), storages_(run.blocks().size()) {
    for (std::uint32_t block = 0; block < storages_.size(); ++block)
      if (!is_born(run.blocks()[block].name)) make(block, true);
    for (std::size_t at = 0; at < run.size(); ++at) {
      if (call != 0 && at % call == 0) begin_call();
      for (const Change& change : run.changes(at)) {
        if (!change.made) {
          storages_[change.block] = ops::StorageRef();
          continue;
        }
        const auto uses = run.uses_of(change.block);
        make(change.block, !uses.empty() && needs_elements(uses.front()));
      }
      launch(at);
    }
  }

  Picoseconds end() const { return device_->backing()->timeline().execute; }
  const streaming::Counts& counts() const { return stream_->counts(); }
  std::int64_t peak() const { return device_->backing()->device_peak().ever; }
  struct Begun {
    Picoseconds at = 0;
    streaming::Counts counts;
  };
  const std::vector<Begun>& calls() const { return calls_; }

private:
  void begin_call() {
    calls_.push_back({end(), counts()});
    std::vector<ops::Storage*> leaves;
    for (std::uint32_t block = 0; block < storages_.size(); ++block)
      if (!is_born(run_.blocks()[block].name)) leaves.push_back(storages_[block].get());
    stream_->begin_call(1, leaves);
  }
  void make(std::uint32_t block, bool filled) {
    const auto bytes = static_cast<std::int64_t>(run_.blocks()[block].bytes);
    storages_[block] = ops::StorageRef(stream_->make_storage(bytes));
    if (!filled) return;
    const std::vector<char> zeros(static_cast<std::size_t>(bytes));
    stream_->copy_in(storages_[block]->block(), 0, zeros.data(), bytes);
  }
  void launch(std::size_t at) {
    std::vector<ops::Block*> reads, writes;
    std::vector<ops::View> inputs, outputs;
    const auto view = [](const ops::Block& block) {
      ops::View all;
      all.data = block.data;
      all.dtype = ops::DType::u8;
      all.shape = ops::Shape{block.bytes};
      all.strides[0] = 1;
      return all;
    };
    for (const PlannedUse& use : run_.uses(at)) {
      if (!storages_[use.block]) make(use.block, false);
      ops::Block& block = storages_[use.block]->block();
      if (needs_elements(use.use)) {
        reads.push_back(&block);
        inputs.push_back(view(block));
      }
      if (!writes_to(use.use)) continue;
      writes.push_back(&block);
      outputs.push_back(view(block));
    }
    const ops::Attributes none;
    stream_->launch(
        ops::StreamKind::execute,
        ops::Launch{kNothing, inputs, outputs, none, reads, writes, {.flops = static_cast<double>(run_.duration(at))}});
  }
  static bool writes_to(Use use) { return cairn::ops::plans::writes(use); }

  const AccessPlan& run_;
  devices_testing::Account account_;
  std::unique_ptr<ops::Device> device_;
  std::unique_ptr<streaming::StreamingDevice> stream_;
  std::vector<ops::StorageRef> storages_; // by block of the run
  std::vector<Begun> calls_;
};

constexpr Policy kPolicies[] = {Policy::demand, Policy::waiting, Policy::unified, Policy::unified_prefetched};

// How many times as long it took on the device.
double beside_the_simulator(const AccessPlan& run, Policy policy, const Memory& memory) {
  CAPTURE(name_of(policy));
  const Simulated simulated = simulate(run, nullptr, policy, memory);
  REQUIRE_MESSAGE(simulated.failed.empty(), simulated.failed);
  const Replay real(run, policy, memory);
  CHECK(real.counts().bytes_in == static_cast<std::int64_t>(simulated.bytes_in));
  CHECK(real.counts().bytes_out == static_cast<std::int64_t>(simulated.bytes_out));
  CHECK(real.counts().faults == static_cast<std::int64_t>(simulated.faults));
  CHECK(real.counts().prefetches == 0);
  CHECK(real.peak() <= static_cast<std::int64_t>(memory.capacity));
  return static_cast<double>(real.end()) / static_cast<double>(simulated.makespan);
}

} // namespace

TEST_CASE("policies of a real device take the time that the simulator says") {
  for (const bool streamed : {false, true})
    for (const bool states : {false, true})
      for (const std::uint64_t uneven : {0, 3})
        for (const std::uint64_t quarters : {1, 2, 4, 8}) {
          CAPTURE(streamed);
          CAPTURE(states);
          CAPTURE(uneven);
          CAPTURE(quarters);
          Network network{.layers = 16, .steps = 2, .states = states, .streamed = streamed, .uneven = uneven};
          Memory memory;
          memory.link.bytes_out = std::uint64_t{12} << 30;
          network.forward = memory.link.in(network.weight) * 4 / quarters;
          network.backward = 2 * network.forward;
          const AccessPlan run = training(network);
          memory.capacity = network.layers * network.weight * (states ? 2 : 1) / 4;
          for (const Policy policy : kPolicies)
            CHECK_MESSAGE(beside_the_simulator(run, policy, memory) == doctest::Approx(1).epsilon(0.01),
                          std::string(name_of(policy)));
        }
}

TEST_CASE("and of launches at random") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const AccessPlan run = chance_run(seed, {.launches = 150,
                                             .leaves = 6 + seed % 10,
                                             .least = 1,
                                             .most = std::uint64_t{1} << (12 + seed % 8),
                                             .longest = 40'000'000});
    Memory memory;
    std::uint64_t all = 0;
    for (const PlannedBlock& block : run.blocks()) all += block.bytes;
    memory.capacity = all / 4 + (std::uint64_t{12} << 16);
    for (const Policy policy : kPolicies)
      CHECK_MESSAGE(beside_the_simulator(run, policy, memory) == doctest::Approx(1).epsilon(0.01), std::string(name_of(policy)));
  }
}

TEST_CASE("steps along their plan take on a real device the time that the simulator says") {
  int same = 0, all = 0;
  for (const bool streamed : {false, true})
    for (const bool states : {false, true})
      for (const std::uint64_t uneven : {0, 3})
        for (const std::uint64_t quarters : {1, 3, 5, 8}) {
          CAPTURE(streamed);
          CAPTURE(states);
          CAPTURE(uneven);
          CAPTURE(quarters);
          Network network{.layers = 16, .activation = 1 << 20, .states = states, .streamed = streamed, .uneven = uneven};
          Memory memory;
          network.forward = memory.link.in(network.weight) * 4 / quarters;
          network.backward = 2 * network.forward;
          memory.capacity = network.layers * network.weight * (states ? 2 : 1) / 3;
          const AccessPlan plan = training(network);
          network.steps = 6;
          const AccessPlan run = training(network);
          const Foresight foresight = foresee(plan, memory, Ending::again);
          // Of the last step; the first ones begin with what was there before.
          const std::size_t last = 5 * plan.size();
          Picoseconds begun = 0, ended = 0;
          std::uint64_t in = 0, out = 0;
          const Simulated simulated =
              simulate(run, &plan, Policy::planned, memory, Ending::again, &foresight, [&](const Move& move) {
                if (move.kind == Move::Kind::launch) (move.launch < last ? begun : ended) = move.executed;
                const std::uint64_t bytes = move.launch < last ? 0 : run.blocks()[move.block].bytes;
                in += move.kind == Move::Kind::fetch ? bytes : 0;
                out += move.kind == Move::Kind::write_back ? bytes : 0;
              });
          REQUIRE_MESSAGE(simulated.failed.empty(), simulated.failed);
          const Replay real(run, Policy::planned, memory, plan.size());
          const Replay::Begun& before = real.calls().back();
          CHECK(real.counts().strayed == before.counts.strayed);
          // Some plans have several steady courses, and which one a run comes to hangs on its first step, which has no plan.
          const bool is_same = real.counts().bytes_in - before.counts.bytes_in == static_cast<std::int64_t>(in) &&
                               real.counts().bytes_out - before.counts.bytes_out == static_cast<std::int64_t>(out);
          all += 1;
          same += is_same ? 1 : 0;
          // The same copies may begin a launch sooner or later.
          CHECK(static_cast<double>(real.end() - before.at) == doctest::Approx(static_cast<double>(ended - begun)).epsilon(0.03));
        }
  CHECK(8 * same >= 7 * all);
}
