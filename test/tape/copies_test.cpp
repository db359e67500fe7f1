// Older numbers as inputs; copies of a tape that share chunks and copy them before writing; cotangents beside the primals.
#include "test/tape/graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

using namespace cairn::tape;
using cairn::tape::test::Graph;
using cairn::tape::test::kChunk;
using cairn::tape::test::random_inputs;
namespace value = cairn::value;

namespace {

std::vector<double> swept(Tape& tape) {
  tape.seed(tape.size() - 1, 1);
  tape.sweep(0, tape.size());
  std::vector<double> bars;
  for (std::uint32_t i = 0; i < tape.size(); ++i) bars.push_back(tape.cotangent(i));
  return bars;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

Composite composite_at(std::uint32_t node, Value x) { return {node, 1, value::kNull, x, value::kNull}; }

} // namespace

TEST_CASE("old is what has a serial from low on and before start") {
  Heap heap;
  Tape tape(heap, 1, 10, 20);
  CHECK_FALSE(tape.is_old(9));
  CHECK(tape.is_old(10));
  CHECK(tape.is_old(19));
  CHECK_FALSE(tape.is_old(20));
  CHECK_FALSE(tape.is_old(UINT64_MAX));
  CHECK(tape.low() == 10);
  CHECK(tape.start() == 20);
}

TEST_CASE("what follows from constant places alone is constant, on a copy and on a tape that was cut, too") {
  Heap heap;
  Tape tape(heap, 3, 1, 100);
  tape.set_constant_places({{5, 0}, {5, 1}, {7, 0}});
  const Value x = value::flonum(2.5);
  const auto lifted = [&](std::uint64_t serial, std::uint32_t slot) { return tape.lift({serial, slot}, x, 2.5).tape_node(); };
  const std::uint32_t a = lifted(5, 0), b = lifted(5, 1), varied = lifted(6, 0);
  const std::uint32_t sum = tape.append(5, a, 1, b, 1).tape_node(), mixed = tape.append(5, sum, 1, varied, 1).tape_node();
  const Tape::Length before = tape.length();
  const std::uint32_t later = lifted(7, 0);
  std::uint32_t many = sum;
  for (int i = 0; i < 20; ++i) many = tape.append(5, many, 1, a, 1).tape_node();
  const auto check = [&](const Tape& t) {
    for (const std::uint32_t node : {a, b, sum}) CHECK(t.is_constant(node));
    for (const std::uint32_t node : {varied, mixed}) CHECK_FALSE(t.is_constant(node));
    CHECK_FALSE(t.varies(kNone));
    CHECK_FALSE(t.varies(sum));
    CHECK(t.varies(mixed));
  };
  check(tape);
  CHECK(tape.is_constant(later));
  CHECK_FALSE(tape.is_constant(many)); // nobody looks so far
  check(*tape.clone(heap));
  tape.cut(before);
  CHECK(tape.append(1, kNone, 0, kNone, 0).tape_node() == later);
  CHECK_FALSE(tape.is_constant(later));
  check(tape);
}

TEST_CASE("a place is lifted once; each place is a node of its own") {
  Heap heap;
  Tape tape(heap, 3, 1, 100);
  Value x = value::flonum(2.5);
  Value a = tape.lift({5, 0}, x, 2.5), b = tape.lift({5, 1}, x, 2.5), c = tape.lift({6, 0}, value::taped(2, 9), 4);
  CHECK(tape.size() == 3);
  CHECK(tape.lift({5, 0}, x, 2.5) == a);
  CHECK(tape.lift({6, 0}, value::taped(2, 9), 4) == c);
  CHECK(tape.size() == 3);
  CHECK_FALSE(a == b);
  CHECK(tape.primal(c.tape_node()) == 4);
  CHECK(tape.inputs.size() == 3);
  CHECK(tape.inputs.find({6, 0})->original == value::taped(2, 9));
  CHECK(tape.inputs.find({6, 1}) == nullptr);
  CHECK(heap.tape.live >= static_cast<std::int64_t>(sizeof(Chunk)) + tape.inputs.bytes());
}

TEST_CASE("a copy shares full chunks, goes on by itself, and sweeps alike") {
  std::mt19937 random(21);
  for (std::uint32_t size : {5u, kChunk, 3 * kChunk, 4 * kChunk + 100}) {
    CAPTURE(size);
    Graph g = Graph::random(random, 3, size + 2000);
    std::vector<double> values = g.values(random_inputs(random, 3));
    Heap heap;
    {
      Tape whole(heap, 1, 1, 50);
      g.record(whole, values, 0, g.size());
      std::vector<double> expected = swept(whole);

      Tape first(heap, 1, 1, 50);
      g.record(first, values, 0, size);
      std::int64_t before = heap.tape.live;
      std::unique_ptr<Tape> second(first.clone(heap));
      CHECK(heap.tape.live - before <= static_cast<std::int64_t>(sizeof(Chunk))); // the chunk in work alone
      CHECK(second->id() == first.id());
      CHECK(second->size() == first.size());
      CHECK(second->start() == first.start());
      // They go on differently and do not see each other.
      for (int i = 0; i < 1500; ++i) second->append(-1, 0, 100, kNone, 0);
      g.record(first, values, size, g.size());
      CHECK(same_bits(swept(first), expected));
      CHECK(second->primal(0) == values[0]);
      CHECK(second->size() == size + 1500);
      std::unique_ptr<Tape> third(first.clone(heap)); // half-done sweeps are copied too
      second->seed(second->size() - 1, 1);
      second->sweep(0, second->size());
      CHECK(second->cotangent(0) == 100);
      CHECK(third->cotangent(0) == expected[0]);
      third->accumulate(0, 1);
      CHECK(first.cotangent(0) == expected[0]);
    }
    CHECK(heap.tape.live == 0);
  }
}

TEST_CASE("a copy taken in the middle of a sweep ends it alike, whichever goes first") {
  std::mt19937 random(22);
  Graph g = Graph::random(random, 3, 5 * kChunk + 10);
  std::vector<double> values = g.values(random_inputs(random, 3));
  for (bool beside : {false, true})
    for (std::uint32_t middle : {1u, kChunk, kChunk + 1, 3 * kChunk - 1, 5 * kChunk}) {
      Heap heap;
      Tape whole(heap, 1, 1, 1), tape(heap, 1, 1, 1);
      for (Tape* t : {&whole, &tape}) {
        g.record(*t, values, 0, g.size());
        if (beside) t->add_composite(composite_at(0, value::kNull));
      }
      std::vector<double> expected = swept(whole);
      tape.seed(tape.size() - 1, 1);
      tape.sweep(middle, tape.size());
      std::unique_ptr<Tape> copy(tape.clone(heap));
      Tape* order[] = {copy.get(), &tape};
      for (Tape* t : order) {
        t->sweep(0, middle);
        bool same = true;
        for (std::uint32_t i = 0; i < g.size(); ++i) {
          double bar = t->cotangent(i);
          same = same && std::bit_cast<std::uint64_t>(bar) == std::bit_cast<std::uint64_t>(expected[i]);
        }
        CHECK(same);
      }
    }
}

TEST_CASE("a tape with composites keeps its primals beside the cotangents") {
  std::mt19937 random(23);
  Graph g = Graph::random(random, 3, 2 * kChunk + 10);
  std::vector<double> values = g.values(random_inputs(random, 3));
  Heap heap;
  {
    Tape plain(heap, 1, 1, 1), tape(heap, 1, 1, 1);
    g.record(plain, values, 0, g.size());
    g.record(tape, values, 0, g.size());
    Value x = heap.cons(value::flonum(1), value::kNull);
    tape.add_composite(composite_at(5, x));
    heap.release(x); // which is the tape's now
    std::vector<double> expected = swept(plain);
    std::int64_t before = heap.tape.live;
    CHECK(same_bits(swept(tape), expected));
    CHECK(heap.tape.live - before == static_cast<std::int64_t>(3 * kChunk * sizeof(double)));
    bool kept = true;
    for (std::uint32_t i = 0; i < g.size(); ++i) kept = kept && tape.primal(i) == values[i];
    CHECK(kept);
    CHECK_FALSE(plain.primal(0) == values[0]); // there the cotangent has taken its place

    std::unique_ptr<Tape> copy(tape.clone(heap));
    CHECK(x.pair()->count == 2);
    copy->accumulate(0, 1);
    CHECK(tape.cotangent(0) == expected[0]);
    CHECK(copy->primal(0) == values[0]);
    copy->release(heap);
    CHECK(x.pair()->count == 1);
    tape.release(heap);
  }
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("copies hold inputs, composites and outputs of their own") {
  Heap heap;
  {
    Tape tape(heap, 1, 1, 100);
    tape.lift({5, 0}, value::flonum(1), 1);
    Value skeleton = heap.cons(value::flonum(1), value::kNull);
    tape.add_output({7, skeleton, {}});
    std::unique_ptr<Tape> copy(tape.clone(heap));
    CHECK(skeleton.pair()->count == 2);
    copy->lift({6, 0}, value::flonum(2), 2);
    CHECK(copy->inputs.size() == 2);
    CHECK(tape.inputs.size() == 1);
    CHECK(copy->outputs.size() == 1);
    tape.release(heap);
    CHECK(skeleton.pair()->count == 1);
    CHECK(copy->inputs.find({5, 0})->node == 0);
    copy->release(heap);
  }
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("a tape that the budget does not hold is refused, and what it has stays sound") {
  Heap heap;
  heap.set_budget(4 * static_cast<std::int64_t>(sizeof(Chunk)) + 1000);
  {
    Tape tape(heap, 1, 1, 1);
    auto fill = [&] {
      for (;;) tape.leaf(1);
    };
    CHECK_THROWS_AS(fill(), value::BudgetExceeded);
    CHECK(tape.size() == 4 * kChunk);
    CHECK_THROWS_AS(tape.leaf(1), value::BudgetExceeded);
    CHECK(tape.size() == 4 * kChunk);
    CHECK(heap.tape.live == static_cast<std::int64_t>(4 * sizeof(Chunk)));
    tape.seed(0, 2);
    CHECK(tape.cotangent(0) == 2);
  }
  CHECK(heap.tape.live == 0);
}

TEST_CASE("records written and read back are the same tape, before and after its sweep") {
  std::mt19937 random(24);
  Graph g = Graph::random(random, 3, 2 * kChunk + 77);
  std::vector<double> values = g.values(random_inputs(random, 3));
  for (int state = 0; state < 4; ++state) {
    bool composite = state % 2 == 1, half_done = state >= 2;
    Heap heap;
    Tape tape(heap, 1, 1, 1), back(heap, 1, 1, 1);
    g.record(tape, values, 0, g.size());
    if (composite) tape.add_composite(composite_at(0, value::kNull));
    if (half_done) {
      tape.seed(tape.size() - 1, 1);
      tape.sweep(kChunk + 5, tape.size());
    }
    std::vector<char> bytes;
    auto put = [&](const void* data, std::size_t size) {
      const char* p = static_cast<const char*>(data);
      bytes.insert(bytes.end(), p, p + size);
    };
    tape.write_records([&](const Record& r) { put(&r, sizeof r); }, put);
    std::size_t at = 0;
    bool sound = true;
    back.read_records(
        half_done,
        [&](std::size_t size) {
          REQUIRE(at + size <= bytes.size());
          at += size;
          return bytes.data() + at - size;
        },
        [&](bool good) { sound = sound && good; });
    CHECK(sound);
    CHECK(at == bytes.size());
    CHECK(back.size() == tape.size());
    for (Tape* t : {&tape, &back}) {
      if (!half_done) t->seed(t->size() - 1, 1);
      t->sweep(0, half_done ? kChunk + 5 : t->size());
    }
    bool same = true;
    for (std::uint32_t i = 0; i < tape.size(); ++i) {
      double a = tape.cotangent(i), b = back.cotangent(i);
      same = same && std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    }
    CHECK(same);
  }
}

TEST_CASE("what a composite had of the world is charged once, however many copies of the tape have it") {
  Heap heap;
  {
    Tape tape(heap, 1, 1, 100);
    const std::int64_t before = heap.tape.live;
    CHECK(past_effects(heap, {}, {}) == nullptr);
    EffectValues read;
    for (int k = 0; k < 1000; ++k) read.push_back(value::flonum(1));
    tape.add_output({7, value::kNull, past_effects(heap, std::move(read), {})});
    const std::int64_t charged = heap.tape.live - before;
    CHECK(charged >= 8000);
    CHECK(charged < 9000);
    std::unique_ptr<Tape> copy(tape.clone(heap));
    CHECK(heap.tape.live - before < charged + 1000);
    tape.release(heap);
    copy->release(heap);
  }
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("what may be computed again one behind the other is bounded at every level, and a longer chain is not read") {
  std::mt19937 random(5);
  Heap heap;
  const auto record_of = [&](std::uint8_t level, std::vector<std::uint32_t> operands, std::uint64_t serial) {
    auto record = std::make_shared<TensorRecord>(heap);
    record->level = level;
    record->operands = std::move(operands);
    record->serial = serial;
    return record;
  };
  int changed = 0;
  for (int round = 0; round < 20; ++round) {
    Tape tape(heap, 1, 1, 1);
    tape.set_lean(false);
    std::vector<std::array<std::uint32_t, kLeanLevels>> chains; // by node, counted anew
    for (std::uint32_t node = 0; node < 300; ++node) {
      std::vector<std::uint32_t> operands;
      for (int i = 0; i < 2 && node > 0; ++i) operands.push_back(node - 1 - random() % std::min<std::uint32_t>(node, 4));
      const auto level = static_cast<std::uint8_t>(random() % 20 == 0 ? 0 : 1 + random() % (1 + round % kLeanLevels));
      const TensorRecord& made = tape.add_tensor(record_of(level, operands, 1 + node));
      REQUIRE(made.node == node);
      CHECK((made.level == 0 || made.level >= level));
      changed += made.level != level ? 1 : 0;
      chains.emplace_back();
      for (std::size_t i = 0; made.level != 0 && i < kLeanLevels; ++i) {
        if (made.level > i + 1) continue;
        for (const std::uint32_t operand : operands) chains[node][i] = std::max(chains[node][i], chains[operand][i]);
        CHECK(++chains[node][i] <= kDeepest[i]);
      }
    }
  }
  CHECK(changed > 100);
  // Little costs at the first level, and may stand behind much that costs more.
  Tape tape(heap, 1, 1, 1);
  tape.set_lean(false);
  std::uint32_t node = 0;
  const auto read = [&](std::uint8_t level) {
    auto record = record_of(level, node == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{node - 1}, 1 + node);
    record->node = node;
    tape.append(0, kNone, 0, kNone, 0);
    ++node;
    return tape.restore_tensor(std::move(record));
  };
  while (node < kDeepest[kLeanLevels - 1]) REQUIRE(read(kLeanLevels));
  CHECK_FALSE(read(1));
}
