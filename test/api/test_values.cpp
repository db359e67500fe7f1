// Values across the border: every kind made, read, printed, passed and given back.
#include "testing.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace testing;

TEST_CASE("values without a machine say what they are") {
  CHECK(cairn_value_kind(cairn_unspecified()) == CAIRN_KIND_UNSPECIFIED);
  CHECK(cairn_value_kind(cairn_null()) == CAIRN_KIND_NULL);
  CHECK(cairn_value_kind(cairn_boolean(7)) == CAIRN_KIND_BOOLEAN);
  CHECK(cairn_value_kind(cairn_integer(-3)) == CAIRN_KIND_INTEGER);
  CHECK(cairn_value_kind(cairn_integer(INT64_MAX)) == CAIRN_KIND_REAL); // beyond 48 bits
  CHECK(cairn_value_kind(cairn_real(std::nan(""))) == CAIRN_KIND_REAL);
  CHECK(cairn_value_kind(cairn_character(0x1F600)) == CAIRN_KIND_CHARACTER);
  CHECK(cairn_value_kind(cairn_character(0xD800)) == CAIRN_KIND_UNSPECIFIED);
  CHECK(cairn_value_kind(cairn_character(0x110000)) == CAIRN_KIND_UNSPECIFIED);
}

TEST_CASE("a NaN of any bits is a number and nothing else") {
  for (std::uint64_t bits : {0x7FF0000000000001u, 0xFFFFFFFFFFFFFFFFu, 0xFFFC000000000010u, 0xFFF8000000000001u}) {
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    CHECK(cairn_value_kind(cairn_real(number)) == CAIRN_KIND_REAL);
  }
}

TEST_CASE("numbers are read as they are asked for") {
  double real = 0;
  int64_t integer = 0;
  CHECK(cairn_get_real(cairn_integer(5), &real) == CAIRN_OK);
  CHECK(real == 5.0);
  CHECK(cairn_get_integer(cairn_real(-7.0), &integer) == CAIRN_OK);
  CHECK(integer == -7);
  integer = 99;
  for (double d : {0.5, std::nan(""), std::numeric_limits<double>::infinity(), 9.3e18, -9.3e18})
    CHECK(cairn_get_integer(cairn_real(d), &integer) == CAIRN_WRONG_KIND);
  CHECK(integer == 99);
  CHECK(cairn_get_real(cairn_boolean(1), &real) == CAIRN_WRONG_KIND);
  CHECK(cairn_get_real(cairn_integer(1), nullptr) == CAIRN_BAD_ARGUMENT);
}

TEST_CASE("every kind of value goes in and comes out") {
  Vm vm("(define (same x) x) (define (describe x) (list x x)) (define f (lambda (x) x))"
        "(define z (interrupt (lambda (n) (let loop ((i 0)) (if (= i n) i (loop (+ i 1))))) 100 50))");
  CHECK(vm.called("same", {cairn_integer(42)}) == "42");
  CHECK(vm.called("same", {cairn_real(0.1)}) == "0.1");
  CHECK(vm.called("same", {cairn_boolean(0)}) == "#f");
  CHECK(vm.called("same", {cairn_null()}) == "()");
  CHECK(vm.called("same", {cairn_character('a')}) == "#\\a");
  CHECK(vm.called("describe", {vm.string("caf\xC3\xA9 \"x\"")}) == "(\"caf\xC3\xA9 \\\"x\\\"\" \"caf\xC3\xA9 \\\"x\\\"\")");
  cairn_value symbol = cairn_unspecified();
  REQUIRE(cairn_make_symbol(vm.vm, "red", 3, &symbol) == CAIRN_OK);
  CHECK(vm.called("same", {symbol}) == "red");
  CHECK(vm.called("same", {vm.reals({1, 2.5, -0.0})}) == "#(1.0 2.5 -0.0)");
  cairn_value pair = cairn_unspecified(), list = cairn_unspecified(), vector = cairn_unspecified();
  REQUIRE(cairn_make_pair(vm.vm, cairn_integer(1), cairn_integer(2), &pair) == CAIRN_OK);
  cairn_value items[] = {pair, cairn_integer(3), cairn_null()};
  REQUIRE(cairn_make_list(vm.vm, items, 3, &list) == CAIRN_OK);
  REQUIRE(cairn_make_vector(vm.vm, items, 3, &vector) == CAIRN_OK);
  cairn_value_release(vm.vm, pair); // the list and the vector hold it
  CHECK(vm.called("same", {list}) == "((1 . 2) 3 ())");
  CHECK(vm.called("same", {vector}) == "#((1 . 2) 3 ())");
  cairn_value f = vm.lookup("f"), z = vm.lookup("z");
  CHECK(cairn_value_kind(f) == CAIRN_KIND_PROCEDURE);
  CHECK(cairn_value_kind(z) == CAIRN_KIND_CAPSULE);
  uint64_t steps = 0;
  int finished = 1;
  CHECK(cairn_get_capsule(z, &steps, &finished) == CAIRN_OK);
  CHECK(steps == 50);
  CHECK(finished == 0);
  CHECK(vm.called("resume", {z}) == "100");
  cairn_value_release(vm.vm, f);
}

TEST_CASE("parts of structures are read with references of their own") {
  Vm vm("(define data (list '(1 2) #(3.5 \"four\") 'five))");
  cairn_value data = vm.lookup("data"), first = cairn_unspecified(), rest = cairn_unspecified();
  size_t length = 0;
  CHECK(cairn_get_length(data, &length) == CAIRN_OK);
  CHECK(length == 3);
  REQUIRE(cairn_get_pair(data, &first, &rest) == CAIRN_OK);
  cairn_value_release(vm.vm, data);
  double numbers[2] = {};
  size_t count = 0;
  CHECK(cairn_get_reals(first, numbers, 2, &count) == CAIRN_OK);
  CHECK(count == 2);
  CHECK(numbers[1] == 2.0);
  CHECK(cairn_get_reals(first, numbers, 1, &count) == CAIRN_OK);
  CHECK(count == 2); // how many there are, not how many fitted
  CHECK(cairn_get_reals(rest, numbers, 2, &count) == CAIRN_WRONG_KIND);
  cairn_value vector = cairn_unspecified(), tail = cairn_unspecified(), item = cairn_unspecified();
  REQUIRE(cairn_get_pair(rest, &vector, &tail) == CAIRN_OK);
  item = cairn_integer(1);
  CHECK(cairn_get_item(vector, 2, &item) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_value_kind(item) == CAIRN_KIND_UNSPECIFIED);
  REQUIRE(cairn_get_item(vector, 1, &item) == CAIRN_OK);
  char* text = nullptr;
  size_t bytes = 0;
  REQUIRE(cairn_get_text(item, &text, &bytes) == CAIRN_OK);
  CHECK(bytes == 4);
  CHECK(taken(text) == "four");
  CHECK(cairn_get_pair(vector, &first, &rest) == CAIRN_WRONG_KIND);
  CHECK(cairn_get_length(cairn_integer(1), &length) == CAIRN_WRONG_KIND);
  for (cairn_value v : {first, rest, vector, tail, item}) cairn_value_release(vm.vm, v);
}

TEST_CASE("text that is not UTF-8 is no string") {
  Vm vm("1");
  cairn_value value = cairn_unspecified();
  CHECK(cairn_make_string(vm.vm, "\xFF", 1, &value) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_make_symbol(vm.vm, "\xC0\x80", 2, &value) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_make_string(vm.vm, nullptr, 1, &value) == CAIRN_BAD_ARGUMENT);
  CHECK(vm.text(vm.string("")) == "\"\"");
}

TEST_CASE("huge and deep values are printed short, and whole if asked") {
  Vm vm("(define deep (let loop ((i 0) (l '())) (if (= i 100000) l (loop (+ i 1) (list l)))))");
  cairn_value deep = vm.lookup("deep");
  char* text = nullptr;
  REQUIRE(cairn_value_text(vm.vm, deep, 40, &text) == CAIRN_OK);
  std::string shown = taken(text);
  CHECK(shown.size() < 60);
  CHECK(shown.ends_with("..."));
  CHECK(vm.text(deep).size() == 200002);
}

TEST_CASE("what does not fit into the budget is refused and leaves the machine well") {
  cairn_vm_options options = vm_options();
  options.memory_bytes = 1 << 20;
  Vm vm(Compiled("(define (size v) (vector-length v))"), options);
  cairn_value value = cairn_unspecified();
  std::vector<double> many(1 << 20);
  CHECK(cairn_make_reals(vm.vm, many.data(), many.size(), &value) == CAIRN_OVER_BUDGET);
  CHECK(cairn_value_kind(value) == CAIRN_KIND_UNSPECIFIED);
  std::vector<cairn_value> nulls(1 << 16, cairn_null());
  CHECK(cairn_make_list(vm.vm, nulls.data(), nulls.size(), &value) == CAIRN_OVER_BUDGET);
  CHECK(vm.called("size", {vm.reals({1, 2})}) == "2");
}
