// Records and the reverse sweep, against derivatives by hand, by the definition and by differences.
#include "test/tape/graphs.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace cairn::tape;
using cairn::tape::test::Graph;
using cairn::tape::test::kChunk;
using cairn::tape::test::random_inputs;
using cairn::value::taped;

namespace {

bool is_positive_zero(double d) { return d == 0 && !std::signbit(d); }
} // namespace

TEST_CASE("numbers of a tape name its id and their record") {
  Heap heap;
  Tape tape(heap, 7, 1, 100);
  for (std::uint32_t i = 0; i < 3 * kChunk + 5; ++i) {
    Value v = tape.leaf(i * .5);
    REQUIRE(v.is_taped());
    REQUIRE(v.tape_id() == 7);
    REQUIRE(v.tape_node() == i);
    REQUIRE(tape.size() == i + 1);
  }
  for (std::uint32_t i = 0; i < tape.size(); i += 37) CHECK(tape.primal(i) == i * .5);
}

TEST_CASE("a derivative by hand: y = x1 x2 + sin x1") {
  Heap heap;
  Tape tape(heap, 1, 1, 1);
  double x1 = 1.25, x2 = -3;
  tape.leaf(x1);
  tape.leaf(x2);
  tape.append(x1 * x2, 0, x2, 1, x1);
  tape.append(std::sin(x1), 0, std::cos(x1), kNone, 0);
  tape.append(x1 * x2 + std::sin(x1), 2, 1, 3, 1);
  tape.seed(4, 2);
  tape.sweep(0, 5);
  CHECK(tape.cotangent(0) == 2 * std::cos(x1) + 2 * x2); // the later use first
  CHECK(tape.cotangent(1) == 2 * x1);
}

TEST_CASE("both operands may be the same, and a second place passes on what it gets") {
  Heap heap;
  Tape tape(heap, 1, 1, 1);
  Value x = tape.leaf(3);
  Value y = tape.identity(x);
  CHECK(tape.primal(y.tape_node()) == 3);
  tape.append(9, 1, 3, 1, 3);
  tape.seed(2, 1);
  tape.sweep(0, 3);
  CHECK(tape.cotangent(1) == 6);
  CHECK(tape.cotangent(0) == 6);
}

TEST_CASE("absent cotangents stay absent, present zeros are present and positive") {
  Heap heap;
  Tape tape(heap, 1, 1, 1);
  tape.leaf(1);                      // 0: used by 3 with partial 0
  tape.leaf(2);                      // 1: used by 4, which nobody uses
  tape.leaf(3);                      // 2: used by nobody
  tape.append(0, 0, 0, kNone, 0);    // 3
  tape.append(2, 1, 1, kNone, 0);    // 4
  tape.append(1, 0, -0.0, kNone, 0); // 5
  tape.seed(3, 5);
  tape.sweep(0, 6);
  CHECK(is_positive_zero(tape.cotangent(0)));
  CHECK(is_absent(tape.cotangent(1)));
  CHECK(is_absent(tape.cotangent(2)));
  CHECK(is_absent(tape.cotangent(4)));
  // A seed of either zero is a present +0.0, and so is a sum with -0.0.
  tape.seed(2, -0.0);
  CHECK(is_positive_zero(tape.cotangent(2)));
  tape.accumulate(1, -0.0);
  CHECK(is_positive_zero(tape.cotangent(1)));
}

TEST_CASE("infinite partials do not reach through absent cotangents") {
  Heap heap;
  Tape tape(heap, 1, 1, 1);
  tape.leaf(0);
  tape.append(0, 0, HUGE_VAL, kNone, 0);
  tape.append(0, 0, 3, kNone, 0);
  tape.seed(2, 1);
  tape.sweep(0, 3);
  CHECK(tape.cotangent(0) == 3);
}

TEST_CASE("seeds are assigned, accumulations added") {
  Heap heap;
  Tape tape(heap, 1, 1, 1);
  tape.leaf(0);
  tape.seed(0, 2);
  tape.seed(0, 3);
  CHECK(tape.cotangent(0) == 3);
  tape.accumulate(0, 4);
  tape.accumulate(0, 5);
  CHECK(tape.cotangent(0) == 12);
}

TEST_CASE("random graphs: every cotangent to the bit as by the definition, in one sweep or in many") {
  std::mt19937 random(11);
  for (std::uint32_t size : {1u, 10u, 100u, kChunk - 3, kChunk - 2, 2 * kChunk, 5 * kChunk + 17}) {
    Graph g = Graph::random(random, 3, size);
    std::vector<double> values = g.values(random_inputs(random, 3));
    std::vector<double> expected = g.cotangents(values);
    for (int pieces : {1, 2, 7}) {
      Heap heap;
      Tape tape(heap, 1, 1, 1);
      g.record(tape, values, 0, g.size());
      REQUIRE(tape.size() == g.size());
      for (std::uint32_t i = 0; i < g.size(); i += 11) REQUIRE(tape.primal(i) == values[i]);
      tape.seed(g.size() - 1, 1);
      std::uint32_t to = g.size();
      for (int i = 1; i < pieces; ++i) {
        std::uint32_t from = static_cast<std::uint32_t>(random() % (to + 1));
        tape.sweep(from, to);
        to = from;
      }
      tape.sweep(0, to);
      for (std::uint32_t i = 0; i < g.size(); ++i) {
        double bar = tape.cotangent(i);
        REQUIRE((is_absent(bar) ? expected[i] == 0 : bar == expected[i]));
      }
    }
  }
}

TEST_CASE("random graphs: central differences agree") {
  std::mt19937 random(12);
  for (int round = 0; round < 40; ++round) {
    Graph g = Graph::random(random, 4, 200);
    std::vector<double> x = random_inputs(random, 4), values = g.values(x);
    Heap heap;
    Tape tape(heap, 1, 1, 1);
    g.record(tape, values, 0, g.size());
    tape.seed(g.size() - 1, 1);
    tape.sweep(0, g.size());
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::vector<double> up = x, down = x;
      up[i] += 1e-5;
      down[i] -= 1e-5;
      double difference = (g.values(up).back() - g.values(down).back()) / 2e-5;
      double bar = tape.cotangent(i);
      CHECK((is_absent(bar) ? 0 : bar) == doctest::Approx(difference).epsilon(1e-4).scale(1));
    }
  }
}

TEST_CASE("denormals are flushed only while asked for") {
  volatile double small = 1e-300, tiny = 1e-10;
  CHECK(small * tiny != 0);
  {
    cairn::ops::FlushDenormals flush;
    CHECK(small * tiny == 0);
    { cairn::ops::FlushDenormals again; }
    CHECK(small * tiny == 0);
  }
  CHECK(small * tiny != 0);
}
