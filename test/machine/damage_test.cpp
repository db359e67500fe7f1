// Capsule files from nowhere: what no machine would write is refused, or ends in an error, and nothing is left of it.
#include "vm/image/image.h"
#include "vm/image/reseal.h"
#include "vm/runs/operators.h"

#include <doctest/doctest.h>

#include <random>

using namespace cairn;
using machine::Engine;
using Bytes = std::vector<std::byte>;

namespace {

// Two globals; 3 is a word where control never comes.
bytecode::Module small_module() {
  using bytecode::Opcode;
  bytecode::Module m;
  bytecode::Function f;
  f.slots = 3;
  f.code = {bytecode::encode(Opcode::integer, 0, 1), bytecode::encode(Opcode::integer, 1, 2),
            bytecode::encode(Opcode::ret_drop, 0), bytecode::encode(Opcode::ret, 2)};
  m.functions = {f};
  m.globals = {"a", "b"};
  m.sources = {{"test", ""}};
  return m;
}

void load_small(Engine& e) {
  std::string error;
  REQUIRE(e.load(small_module(), error));
  for (value::Value& v : e.globals) v = value::kNull;
}

std::string refusal(const Bytes& bytes) {
  Engine e({}, runs::kOperators);
  std::string error;
  if (image::read_image(e, bytes, error)) return "";
  REQUIRE(!error.empty());
  return error;
}

} // namespace

TEST_CASE("what is written is read, and written as the same bytes") {
  Engine e({}, runs::kOperators);
  load_small(e);
  value::Value shared = e.heap().make_string("x");
  value::Value list = value::kNull;
  for (int i = 0; i < 100; ++i) list = e.heap().cons(i % 3 == 0 ? value::Heap::retain(shared) : value::flonum(i), list);
  e.globals = {list, shared};
  Bytes bytes = image::write_image(e);
  Engine again({}, runs::kOperators);
  std::string error;
  REQUIRE(image::read_image(again, bytes, error));
  CHECK(image::write_image(again).size() == bytes.size());
}

TEST_CASE("both NaNs are numbers, and others are not") {
  for (auto [bits, fine] : {std::pair{0x7FF8000000000000u, true}, {0xFFF8000000000000u, true}, {0x7FF8000000000001u, false}}) {
    Engine e({}, runs::kOperators);
    load_small(e);
    e.globals[0] = value::Value{bits};
    CHECK(refusal(image::write_image(e)).empty() == fine);
  }
}

TEST_CASE("objects that refer to themselves are refused") {
  for (int length : {1, 2, 1000}) {
    Engine e({}, runs::kOperators);
    load_small(e);
    value::Value first = e.heap().cons(value::kNull, value::kNull), list = value::Heap::retain(first);
    for (int i = 1; i < length; ++i) list = e.heap().cons(value::kNull, list);
    first.pair()->car = value::Heap::retain(list);
    e.globals = {list, first};
    CHECK(refusal(image::write_image(e)) == "objects that refer to themselves");
    e.heap().release(first.pair()->car);
    first.pair()->car = value::kNull;
  }
}

TEST_CASE("a frame that stands where control cannot come is refused") {
  Engine e({}, runs::kOperators);
  load_small(e);
  e.runs[0].top->rest_at(e.runs[0].top->code->words() + 3);
  CHECK(refusal(image::write_image(e)) == "a frame stands where control cannot come");
}

TEST_CASE("runs that the machine does not make are refused") {
  Engine e({}, runs::kOperators);
  load_small(e);
  machine::Run r = e.runs[0];
  for (auto kind : {machine::RunKind::base, machine::RunKind::interval, machine::RunKind::reverse}) {
    r.kind = kind;
    e.runs = {e.runs[0], r};
    e.runs[0].top->set_result(1);
    e.runs[0].top->rest_at(e.runs[0].top->code->words() + 2, 1);
    CHECK(refusal(image::write_image(e)) != "");
    e.runs.pop_back();
  }
}

TEST_CASE("numbers nested so deep that arithmetic would not end are refused") {
  Engine e({}, runs::kOperators);
  load_small(e);
  value::Value n = value::flonum(1);
  for (int tag = 1; tag < 60; ++tag) {
    value::Value b = e.heap().make_bundle(static_cast<std::uint64_t>(tag), value::flonum(1), value::flonum(1));
    value::as_bundle(b)->primal = value::Heap::retain(n);
    value::as_bundle(b)->tangent = n;
    n = b;
  }
  e.globals[0] = n;
  CHECK(refusal(image::write_image(e)) == "a number of too many levels");
}

TEST_CASE("counts beyond the file are refused without giant allocations") {
  Engine e({}, runs::kOperators);
  load_small(e);
  e.globals[0] = value::of_other(e.heap().make_vector(0));
  Bytes bytes = image::write_image(e);
  std::string error;
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    Bytes changed = bytes;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      changed[24 + random() % (changed.size() - 24)] = static_cast<std::byte>(random());
    REQUIRE(image::reseal_file(changed, error));
    machine::Options options;
    options.memory_bytes = 1 << 20;
    Engine m(options, runs::kOperators);
    try {
      if (image::read_image(m, changed, error)) m.run(100);
    } catch (const value::BudgetExceeded&) {
      continue; // more than the machine may have
    }
  }
}

TEST_CASE("resealing says what it was not given") {
  Bytes bytes(40);
  std::string error;
  CHECK(!image::reseal_file(bytes, error));
  CHECK(error == "this is no Cairn file");
  Engine e({}, runs::kOperators);
  load_small(e);
  bytes = image::write_image(e);
  bytes.resize(20);
  CHECK(!image::reseal_file(bytes, error));
  CHECK(error == "the capsule file is too short for a checksum");
}
