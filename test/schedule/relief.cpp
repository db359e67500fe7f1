// Reversals for which memory runs out where nothing can begin again.
#include "test/schedule/helpers.h"

#include "vm/schedule/reversal.h"

using namespace cairn::schedule;
using namespace cairn::schedule::test;

TEST_CASE("at last a reversal does with one state and tapes of single steps, and reverses every step once") {
  Random random(5);
  int reliefs = 0;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t steps = 1 + random.below(400);
    // Tapes and states for which there is memory.
    const std::uint64_t longest = 1 + random.below(20), most = 1 + random.below(6);
    Slots slots;
    const std::uint32_t start = slots.take();
    const auto cut = random.below(2) == 0 ? Reversal::Cut::halves : Reversal::Cut::revolve;
    Reversal reversal(cut, 16, cut == Reversal::Cut::halves ? kNoLimit : 3, {{0, start}}, slots, steps);
    std::uint64_t left = steps, taped = 0, held = 1, actions = 0;
    CAPTURE(round);
    CAPTURE(steps);
    CAPTURE(longest);
    CAPTURE(most);
    while (const std::optional<Action> action = reversal.next()) {
      REQUIRE(++actions < 400 * 400);
      bool sweeping = false, fails = false;
      switch (action->kind) {
      case Action::Kind::snapshot:
        ++held;
        break;
      case Action::Kind::discard:
        --held;
        break;
      case Action::Kind::tape:
        taped = action->steps;
        fails = taped > longest || (held > most && random.below(2) == 0);
        break;
      case Action::Kind::reverse:
        sweeping = true;
        left -= taped;
        CHECK(reversal.left() == left);
        fails = held > most;
        break;
      default:
        fails = held > most + 1;
        break;
      }
      while (fails && (!sweeping || held > most)) {
        const std::optional<Schedule::Relief> relief = reversal.relieve(sweeping, true);
        if (!relief && sweeping) break; // what is swept next goes on without any state
        REQUIRE(relief);
        ++reliefs;
        held = relief->all ? 1 : held - relief->slots.size();
        CHECK(reversal.left() == left);
        fails = held > most;
      }
      CHECK(reversal.sound());
    }
    CHECK(left == 0);
  }
  CHECK(reliefs > 300);
}
