// Counts, serials, immortality, symbols, and freeing without recursion, whatever is nested in what.
#include "test/value/holder.h"

#include "vm/value/heap.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace cairn::value;

namespace {

constexpr int kDeep = 1'000'000; // far more than the native stack holds calls

Value vector_of(Heap& heap, std::vector<Value> items) {
  Vector* v = heap.make_vector(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) v->items()[i] = items[i];
  return of_other(v);
}

// Builds `wrap(wrap(...))` and frees it.
template <class Wrap> void build_and_free(Heap& heap, Wrap wrap) {
  std::int64_t before = heap.live_bytes();
  Value v = kNull;
  for (int i = 0; i < kDeep; ++i) v = wrap(v);
  CHECK(heap.live_bytes() - before >= std::int64_t{kDeep} * 24);
  heap.release(v);
  CHECK(heap.live_bytes() == before);
}

} // namespace

TEST_CASE("an object lives as long as it has references, and its parts with it") {
  Heap heap;
  Value inner = heap.cons(integer(1), kNull);
  CHECK(Heap::unique(inner.pair()));
  Value a = heap.cons(Heap::retain(inner), kNull), b = heap.cons(Heap::retain(inner), kNull);
  CHECK(inner.pair()->count == 3);
  heap.release(a);
  CHECK(inner.pair()->count == 2);
  heap.release(inner);
  CHECK(Heap::unique(b.pair()->car.pair()));
  CHECK(b.pair()->car.pair()->car == integer(1));
  heap.release(b);
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("values that are no objects are not counted") {
  Heap heap;
  for (Value v : {integer(-5), flonum(1.5), kNull, kTrue, character(0x1F600), taped(3, 7)}) {
    CHECK_FALSE(v.is_object());
    heap.release(Heap::retain(v));
  }
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("deep structures of every kind are freed without recursion") {
  Heap heap;
  SUBCASE("lists") {
    build_and_free(heap, [&](Value v) { return heap.cons(integer(1), v); });
  }
  SUBCASE("pairs in the first field") {
    build_and_free(heap, [&](Value v) { return heap.cons(v, integer(1)); });
  }
  SUBCASE("vectors") {
    build_and_free(heap, [&](Value v) { return vector_of(heap, {integer(1), v}); });
  }
  SUBCASE("bundles by primal and by tangent, deeper than any program makes them") {
    bool primal = false;
    build_and_free(heap, [&](Value v) {
      primal = !primal;
      Value b = heap.make_bundle(1, flonum(1), flonum(1));
      (primal ? as_bundle(b)->primal : as_bundle(b)->tangent) = v;
      return b;
    });
  }
  SUBCASE("closures") {
    build_and_free(heap, [&](Value v) {
      ClosureBlock* b = heap.make_closure_block(2, 1);
      b->captured()[0] = v;
      b->procedure(0)->code = b->procedure(1)->code = nullptr;
      return of_procedure(b->procedure(1));
    });
  }
  SUBCASE("states and capsules") {
    int destroyed = 0;
    bool capsule = false;
    build_and_free(heap, [&](Value v) {
      capsule = !capsule;
      return of_other(heap.make_native(capsule ? Kind::capsule : Kind::state, heap.own<Holder>(v, &destroyed)));
    });
    CHECK(destroyed == kDeep);
  }
  SUBCASE("everything in everything") {
    int destroyed = 0, i = 0;
    build_and_free(heap, [&](Value v) {
      switch (i++ % 5) {
      case 0:
        return heap.cons(heap.make_string("text"), v);
      case 1:
        return vector_of(heap, {v, heap.make_symbol("name")});
      case 2:
        return heap.make_bundle(1, v, kNull);
      case 3:
        return of_other(heap.make_native(Kind::state, heap.own<Holder>(v, &destroyed)));
      default: {
        ClosureBlock* b = heap.make_closure_block(1, 2);
        b->procedure(0)->code = nullptr;
        b->captured()[0] = v;
        b->captured()[1] = integer(i);
        return of_procedure(b->procedure(0));
      }
      }
    });
    CHECK(destroyed == kDeep / 5);
  }
}

TEST_CASE("a stack of frames is freed without recursion, with what their live slots hold") {
  Heap heap;
  const cairn::bytecode::Word words[] = {0};
  const std::uint64_t live[] = {0b101}; // slot 1 is dead: what it holds is nobody's
  Code shape;
  shape.slots = 3;
  shape.live = live;
  OwnedCode code = make_code(shape, words);
  Value shared = heap.cons(kNull, kNull);
  std::int64_t before = heap.live_bytes();
  Frame* top = nullptr;
  for (int i = 0; i < kDeep; ++i) {
    Frame* f = heap.make_frame(code.get());
    f->parent = top;
    f->slots()[0] = heap.cons(integer(i), kNull);
    f->slots()[1] = shared;
    f->slots()[2] = Heap::retain(shared);
    top = f;
  }
  CHECK(shared.pair()->count == kDeep + 1);
  heap.release(top);
  CHECK(shared.pair()->count == 1);
  CHECK(heap.live_bytes() == before);
  heap.release(shared);
}

TEST_CASE("constants do not die, however often they are released") {
  Heap heap;
  Value v = heap.cons(kNull, kNull);
  v.pair()->count = kImmortal;
  for (int i = 0; i < 1000; ++i) heap.release(v);
  CHECK(v.pair()->car == kNull);
  CHECK_FALSE(Heap::unique(v.pair()));
  for (int i = 0; i < 1000; ++i) Heap::retain(v);
  CHECK(v.pair()->count >= kImmortal);
  // An ordinary object that is referred to too often to count becomes one.
  Value w = heap.cons(v, v);
  w.pair()->count = 0x7FFFFFFF;
  Heap::retain(w);
  CHECK(w.pair()->count == kImmortal);
}

TEST_CASE("serials count allocations of every kind and size, and freeing gives none back") {
  Heap heap;
  std::uint64_t next = heap.next_serial;
  auto fresh = [&](Value v) {
    CHECK(object_of(v)->serial == next++);
    return v;
  };
  int destroyed = 0;
  Value a = fresh(heap.cons(kNull, kNull));
  heap.release(a);
  heap.release(fresh(heap.cons(kNull, kNull)));
  heap.release(fresh(vector_of(heap, {})));
  heap.release(fresh(vector_of(heap, std::vector<Value>(100000, kNull))));
  heap.release(fresh(heap.make_string("abc")));
  heap.release(fresh(heap.make_bundle(1, kNull, kNull)));
  heap.release(fresh(of_other(heap.make_native(Kind::state, heap.own<Holder>(kNull, &destroyed)))));
  ClosureBlock* b = heap.make_closure_block(3, 0);
  heap.release(fresh(of_procedure(b->procedure(2))));
  Value text = fresh(heap.make_string("part of the program"));
  heap.make_immortal(object_of(text));
  CHECK(object_of(text)->serial == 0);
  heap.release(text);
  heap.release(text);
  CHECK(as_text(text)->view() == "part of the program");
}

TEST_CASE("a number has at most so many levels, and what is refused leaves nothing") {
  Heap heap;
  Value v = flonum(1);
  for (std::uint32_t level = 1; level <= kMostLevels; ++level) {
    v = heap.make_bundle(level, flonum(1), v);
    CHECK(as_bundle(v)->levels() == level);
  }
  Heap::retain(v);
  CHECK_THROWS_AS(heap.make_bundle(99, v, flonum(1)), BudgetExceeded);
  CHECK(object_of(v)->count == 1);
  heap.release(v);
  CHECK(heap.heap_live() == 0);
}

TEST_CASE("symbols of one name are one object while it lives") {
  Heap heap;
  std::string longer(5000, 'x');
  Value a = heap.make_symbol("name"), b = heap.make_symbol("name"), c = heap.make_symbol(longer);
  CHECK(a == b);
  CHECK(is_symbol(a));
  CHECK(heap.make_symbol(longer) == c);
  CHECK_FALSE(heap.make_string("name") == a);
  heap.release(a);
  CHECK(as_text(b)->view() == "name");
  heap.release(b);
  Value again = heap.make_symbol("name");
  CHECK(as_text(again)->view() == "name");
  heap.release(c);
  heap.release(c);
  c = heap.make_symbol(longer);
  CHECK(as_text(c)->view() == longer);
}

TEST_CASE("strings count code points") {
  Heap heap;
  Value s = heap.make_string("a\u00e9\u20ac\U0001F600");
  CHECK(as_text(s)->length == 4);
  CHECK(as_text(s)->bytes == 10);
  heap.release(s);
}

TEST_CASE("cells of freed objects are used again") {
  Heap heap;
  Value v = heap.cons(kNull, kNull);
  Pair* place = v.pair();
  heap.release(v);
  v = heap.cons(kNull, kNull);
  CHECK(v.pair() == place);
  heap.release(v);
}

#ifdef CAIRN_ADDRESS_SANITIZER
TEST_CASE("AddressSanitizer knows what is free") {
  Heap heap;
  Value pair = heap.cons(kNull, kNull), large = of_other(heap.make_vector(1000));
  CHECK_FALSE(__asan_address_is_poisoned(&pair.pair()->car));
  const Value* car = &pair.pair()->car;
  const Value* item = as_vector(large)->items();
  CHECK(__asan_address_is_poisoned(car + 2)); // the next cell
  heap.release(pair);
  heap.release(large);
  CHECK(__asan_address_is_poisoned(car));
  CHECK(__asan_address_is_poisoned(item));
  Value again = heap.cons(kNull, kNull);
  CHECK_FALSE(__asan_address_is_poisoned(car));
  heap.release(again);
}
#endif
