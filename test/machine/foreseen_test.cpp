// What is foreseen of the bytes that a tape's operations hold for a while, operation by operation.
#include "vm/runs/cotangents.h"
#include "vm/runs/operations.h"
#include "vm/tape/tape.h"

#include <doctest/doctest.h>

using namespace cairn;
using namespace cairn::runs;
using ops::VjpMemory;

namespace {

// Operations with one result each, whose nodes are those behind the inputs'.
class FollowedProgram {
public:
  explicit FollowedProgram(std::vector<std::uint64_t> inputs)
      : bytes_(std::move(inputs)), inputs_(bytes_.size()), operations_(heap_, kMost, kMost) {}

  std::uint32_t add(VjpMemory cotangents, const std::vector<std::uint32_t>& operands, std::uint64_t bytes) {
    const auto node = static_cast<std::uint32_t>(bytes_.size());
    operations_.add(node, node + 1).cotangents = cotangents;
    for (const std::uint32_t of : operands) {
      operations_.add_operand({of, false, of == tape::kNone ? 8 : bytes_[of]});
      if (of != tape::kNone) operations_.use(of, false);
    }
    operations_.add_result(node, bytes);
    bytes_.push_back(bytes);
    return node;
  }
  Operation& made(std::uint32_t node) { return operations_[node - inputs_]; }

  schedule::Weights follow(const std::vector<std::uint32_t>& ends) {
    Nodes nodes{value::ChargedAllocator<Node>(heap_)};
    for (const std::uint32_t node : ends) nodes.push_back({node, bytes_[node]});
    schedule::Weights weights;
    together = operations_.follow(nodes, false, weights);
    return weights;
  }
  std::vector<Together> together;

private:
  static constexpr std::uint32_t kMost = 16;
  value::Heap heap_;
  std::vector<std::uint64_t> bytes_;
  std::size_t inputs_;
  Operations operations_;
};

} // namespace

TEST_CASE("a part that is added onto a sum has no memory of its own, but for the first one") {
  const auto sweeping = [](VjpMemory memory, bool shared) {
    FollowedProgram program({100});
    const std::uint32_t a = program.add(memory, {0}, 40), b = program.add(memory, {0}, 30);
    std::vector<std::uint32_t> ends = {program.add(VjpMemory::own, {a}, 1), program.add(VjpMemory::own, {b}, 1)};
    if (shared) ends.push_back(program.add(VjpMemory::shares, {0}, 100));
    return program.follow(ends).forms[0].sweeping + (shared ? 102 : 2);
  };
  CHECK(sweeping(VjpMemory::own, false) == 240);  // both parts, beside the cotangent of a
  CHECK(sweeping(VjpMemory::onto, false) == 170); // the sum, beside those of a and b while b makes it
  CHECK(sweeping(VjpMemory::onto, true) == 171);  // and one of the ends
}

TEST_CASE("a reverse rule that overwrites takes no more than the cotangent that it is given, unless somebody else has that") {
  const auto sweeping = [](VjpMemory memory, bool twice) {
    FollowedProgram program({100});
    const std::uint32_t x = program.add(memory, {0}, 100);
    const std::uint32_t y = program.add(memory, {x}, 100);
    std::vector<std::uint32_t> ends = {program.add(VjpMemory::own, {y}, 10)};
    if (twice) ends.push_back(y);
    return program.follow(ends).forms[0].sweeping;
  };
  // In all: that of the end, and of y; of y and x, or of one of them.
  CHECK(sweeping(VjpMemory::own, false) == 200 - 10);
  CHECK(sweeping(VjpMemory::last_over, false) == 110 - 10);
  CHECK(sweeping(VjpMemory::first_over, false) == 110 - 10);
  CHECK(sweeping(VjpMemory::shares, false) == 110 - 10);
  // The cotangent of y is the sum of two then.
  CHECK(sweeping(VjpMemory::own, true) == 210 - 110);
  CHECK(sweeping(VjpMemory::last_over, true) == 210 - 110);
}

TEST_CASE("of two operands only the last one's cotangent takes the memory of the result's") {
  const auto sweeping = [](std::uint64_t a, std::uint64_t b, bool both) {
    FollowedProgram program({a, b});
    const std::uint32_t product =
        program.add(VjpMemory::last_over, both ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{0}, 100);
    return program.follow({program.add(VjpMemory::own, {product}, 10)}).forms[0].sweeping + 10;
  };
  CHECK(sweeping(100, 100, true) == 200);
  CHECK(sweeping(100, 100, false) == 110);
  CHECK(sweeping(100, 20, true) == 220); // the second one is computed over the result's, and then summed
  CHECK(sweeping(20, 100, true) == 220); // the first one is computed beside the result's, and then summed
  CHECK(sweeping(20, 100, false) == 120);
}

TEST_CASE("the cotangent of a number is computed in memory as large as the result") {
  FollowedProgram program({100});
  const std::uint32_t scaled = program.add(VjpMemory::last_over, {tape::kNone, 0}, 100);
  CHECK(program.follow({program.add(VjpMemory::own, {scaled}, 10)}).forms[0].sweeping == 100 + 100 + 8 - 10);
}

TEST_CASE("parts of a cotangent hold all of it until the last of them is gone") {
  const auto sweeping = [](VjpMemory memory) {
    FollowedProgram program({10, 10});
    const std::uint32_t a = program.add(VjpMemory::own, {0}, 60), b = program.add(VjpMemory::own, {1}, 40);
    return program.follow({program.add(VjpMemory::own, {program.add(memory, {a, b}, 100)}, 10)}).forms[0].sweeping + 10;
  };
  CHECK(sweeping(VjpMemory::parts) == 120); // all beside the cotangents of both inputs
  CHECK(sweeping(VjpMemory::own) == 200);
}

TEST_CASE("cotangents that lie in memory with others at the start of a tape are told, with all that they hold") {
  FollowedProgram program({60, 40, 20});
  const std::uint32_t c = program.add(VjpMemory::last_over, {2}, 20);
  const std::uint32_t all = program.add(VjpMemory::parts, {0, 1, c}, 120);
  program.follow({program.add(VjpMemory::own, {all}, 10)});
  REQUIRE(program.together.size() == 1);
  CHECK(program.together[0].bytes == 120);
  REQUIRE(program.together[0].nodes.size() == 2); // that of c is gone
  CHECK(program.together[0].nodes[0].node == 0);
  CHECK(program.together[0].nodes[0].bytes == 60);
  CHECK(program.together[0].nodes[1].node == 1);
}

TEST_CASE("cotangents of the end that are parts of others are not written to, and stay") {
  const auto more = [](VjpMemory memory, std::uint64_t input, bool other) {
    FollowedProgram program({input, 100});
    const std::uint32_t x = program.add(memory, {0}, 100);
    if (other) program.add(VjpMemory::own, {x}, 30); // a sum at the end
    const schedule::Weights weights =
        program.follow(other ? std::vector<std::uint32_t>{x, x + 1} : std::vector<std::uint32_t>{x});
    for (const schedule::TapeForm& form : weights.forms) { // nothing is computed again
      CHECK(form.sweeping == weights.forms[0].sweeping);
      CHECK(form.more_if_parts == weights.forms[0].more_if_parts);
    }
    return std::pair(weights.forms[0].sweeping, weights.forms[0].more_if_parts);
  };
  using Both = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(more(VjpMemory::last_over, 100, false) == Both(0, 100));
  CHECK(more(VjpMemory::shares, 100, false) == Both(0, 0));
  CHECK(more(VjpMemory::own, 150, false) == Both(150, 0));
  // That of 30 stays, too; a sum is made beside both that are added.
  CHECK(more(VjpMemory::own, 150, true) == Both(120, 130));
  CHECK(more(VjpMemory::own, 10, true) == Both(100, 100));
}

TEST_CASE("a sum that lies in memory of the end takes as much more if that is a part of others") {
  FollowedProgram program({100, 100});
  const std::uint32_t seen = program.add(VjpMemory::shares, {0}, 100), both = program.add(VjpMemory::shares, {0, 1}, 100);
  const schedule::Weights weights = program.follow({seen, both});
  // The cotangents of both inputs lie in that of `both`, until that of `seen` is added to one of them, over it or beside it.
  CHECK(weights.forms[0].sweeping == 0);
  CHECK(weights.forms[0].more_if_parts == 100);
}

TEST_CASE("a sum of cotangents lies in memory of its own") {
  FollowedProgram program({60, 40});
  const std::uint32_t used = program.add(VjpMemory::own, {0}, 5);
  program.made(program.add(VjpMemory::parts, {0, 1}, 100)).turns = true; // beside each other, so not without gaps
  const std::uint32_t both = program.add(VjpMemory::own, {used, 3}, 10);
  program.follow({both});
  REQUIRE(program.together.size() == 1);
  CHECK(program.together[0].nodes.size() == 1); // that of input 1 alone still is a part
  CHECK(program.together[0].nodes[0].node == 1);
}

TEST_CASE("a view of what lies in another order may have to be copied") {
  const auto sweeping = [](bool turned) {
    FollowedProgram program({100});
    const std::uint32_t x = program.add(VjpMemory::last_over, {0}, 100);
    const std::uint32_t seen = program.add(VjpMemory::shares, {x}, 100);
    program.made(seen).may_copy = true;
    const std::uint32_t other = program.add(VjpMemory::shares, {seen}, 100);
    program.made(other).turns = turned;
    const std::uint32_t more = program.add(VjpMemory::own, {other}, 10);
    return program.follow({more}).forms[0].sweeping;
  };
  CHECK(sweeping(false) == 110 - 10);
  CHECK(sweeping(true) == 200 - 10);
}

TEST_CASE("what the state at the end has is no scratch, a view has no bytes, and a result may take the memory of an operand") {
  FollowedProgram program({100});
  const std::uint32_t a = program.add(VjpMemory::own, {0}, 100);
  const std::uint32_t b = program.add(VjpMemory::own, {a}, 100);
  const std::uint32_t c = program.add(VjpMemory::own, {b}, 100);
  CHECK(program.follow({c}).advancing == 100); // two of the three at once, of which the last stays
  CHECK(program.follow({b, c}).advancing == 0);
  CHECK(program.follow({a, c}).advancing == 100);
  program.made(b).overwritten = a;
  program.made(c).overwritten = b;
  CHECK(program.follow({c}).advancing == 0);
  CHECK(program.follow({a, c}).advancing == 0); // a is not overwritten, but b is
  program.made(a).last_use = 2;                 // somebody else reads it, too
  CHECK(program.follow({c}).advancing == 100);
}

namespace {

// A chain of operations on 100 bytes each, whose reverse rules want their operands, of which all but the first are computed again
// by tapes lean at the second level and at the last one.
schedule::Weights lean_chain(std::uint32_t length, bool views) {
  value::Heap heap;
  Operations operations(heap, length + 1, length);
  for (std::uint32_t node = 1; node <= length; ++node) {
    Operation& o = operations.add(node, node + 1);
    operations.add_operand({node - 1, false, 100});
    operations.use(node - 1, true);
    operations.add_result(node, 100);
    o.again_bytes = 100;
    o.may_view = views;
    for (std::size_t form = 0; form < schedule::kTapeForms; ++form)
      if (node > 1 && (form < 2 || node == 2)) o.kept_new[form] = 100; // its operand
    if (node < 3) continue;
    operations.add_wanted_again(node - 1, 2);
    operations.add_wanted(node - 1, 2);
  }
  Nodes ends{value::ChargedAllocator<Node>(heap)};
  ends.push_back({length, 100});
  schedule::Weights weights;
  operations.follow(ends, false, weights);
  return weights;
}

} // namespace

TEST_CASE("what is computed again is held until the sweep has passed it, at the levels where it is") {
  for (const bool views : {false, true}) {
    const schedule::Weights weights = lean_chain(10, views);
    CHECK(weights.forms[1].sweeping == weights.forms[0].sweeping);
    CHECK(weights.forms[2].sweeping == weights.forms[3].sweeping);
    CHECK(weights.forms[2].sweeping >= weights.forms[0].sweeping + 800);
    CHECK(weights.forms[2].sweeping <= weights.forms[0].sweeping + 1000);
  }
}
