// The printer: every kind of value in both styles, any depth, and short texts for messages.
#include "test/print/world.h"

#include <doctest/doctest.h>

using namespace cairn;
using namespace cairn::value;
using print::Style;
using print::testing::World;

namespace {

struct Printing {
  World world;
  Heap& heap = world.heap();

  // Prints and releases.
  std::string text(Value v, Style style = Style::write) {
    world.output.clear();
    print::print(v, style, world);
    heap.release(v);
    return world.output;
  }
  Value list(std::initializer_list<Value> items, Value tail = kNull) {
    for (auto i = items.end(); i != items.begin();) tail = heap.cons(*--i, tail);
    return tail;
  }
  Value vector(std::initializer_list<Value> items) {
    Vector* v = heap.make_vector(items.size());
    std::copy(items.begin(), items.end(), v->items());
    return of_other(v);
  }
};

constexpr Value kOne = integer_unchecked(1), kTwo = integer_unchecked(2);

} // namespace

TEST_CASE_FIXTURE(Printing, "atoms") {
  CHECK(text(kTrue) == "#t");
  CHECK(text(kFalse) == "#f");
  CHECK(text(kNull) == "()");
  CHECK(text(integer_unchecked(-17)) == "-17");
  CHECK(text(flonum(2)) == "2.0");
  CHECK(text(flonum(-0.0)) == "-0.0");
  CHECK(text(kUnspecified) == "#<unspecified>");
  CHECK(text(heap.make_symbol("a-symbol")) == "a-symbol");
}

TEST_CASE_FIXTURE(Printing, "lists, dotted lists and vectors nest") {
  CHECK(text(list({kOne, kTwo})) == "(1 2)");
  CHECK(text(list({kOne, kTwo}, flonum(3))) == "(1 2 . 3.0)");
  CHECK(text(list({list({}), list({kOne})}, vector({kTwo}))) == "(() (1) . #(2))");
  CHECK(text(vector({})) == "#()");
  CHECK(text(vector({kOne, list({kTwo}), vector({kNull})})) == "#(1 (2) #(()))");
  CHECK(text(list({heap.make_symbol("quote"), heap.make_symbol("x")})) == "(quote x)");
}

TEST_CASE_FIXTURE(Printing, "write quotes strings and characters, display shows them as they are") {
  const char* odd = "a\"b\\c\n\t\x01\x7F\xC3\xA9";
  CHECK(text(heap.make_string(odd)) == "\"a\\\"b\\\\c\\n\\t\\x1;\\x7f;\xC3\xA9\"");
  CHECK(text(heap.make_string(odd), Style::display) == odd);
  CHECK(text(list({heap.make_string("a"), character('b')}), Style::display) == "(a b)");
  CHECK(text(character('a')) == "#\\a");
  CHECK(text(character(' ')) == "#\\space");
  CHECK(text(character('\n')) == "#\\newline");
  CHECK(text(character(0)) == "#\\null");
  CHECK(text(character(1)) == "#\\x1");
  CHECK(text(character(0xE9)) == "#\\\xC3\xA9");
  CHECK(text(character(0xE9), Style::display) == "\xC3\xA9");
}

TEST_CASE_FIXTURE(Printing, "taped numbers and bundles print as their primal") {
  world.tape = {flonum(1.5), taped(0, 0)};
  CHECK(text(taped(0, 1)) == "1.5");
  CHECK(text(heap.make_bundle(1, taped(0, 0), flonum(9))) == "1.5");
  CHECK(text(list({kOne}, heap.make_bundle(1, flonum(2), flonum(9)))) == "(1 . 2.0)");
}

TEST_CASE_FIXTURE(Printing, "procedures print alike") {
  ClosureBlock* b = heap.make_closure_block(1, 0);
  CHECK(text(of_procedure(b->procedure(0))) == "#<procedure>");
}

TEST_CASE_FIXTURE(Printing, "a million elements and a million levels print in pieces") {
  Value wide = kNull, deep = kNull;
  for (int i = 0; i < 1000000; ++i) {
    wide = heap.cons(kOne, wide);
    deep = heap.cons(deep, kNull);
  }
  CHECK(text(wide).size() == 2000001);
  CHECK(text(deep).size() == 2000002);
  CHECK(world.largest_piece < 5000);
}

TEST_CASE_FIXTURE(Printing, "abbreviations are short, whole characters, and written") {
  Value v = list({heap.make_string("x"), kOne});
  CHECK(print::abbreviated(v, world) == "(\"x\" 1)");
  CHECK(print::abbreviated(v, world, 5) == "(\"...");
  heap.release(v);
  v = heap.make_string("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9");
  CHECK(print::abbreviated(v, world, 7) == "\"\xC3\xA9...");
  heap.release(v);
  v = heap.make_string(std::string(1000000, 'a'));
  CHECK(print::abbreviated(v, world).size() == 80);
  heap.release(v);
}
