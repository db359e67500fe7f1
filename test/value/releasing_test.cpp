// Releasing that is stopped: what is left stays in the accounts, nothing of it can be seen, and it goes when it is asked for, or
// when room is needed.
#include "test/value/holder.h"

#include "vm/value/heap.h"

#include <doctest/doctest.h>

#include <vector>

using namespace cairn::value;

namespace {

constexpr std::int64_t kPairs = 100'000, kAtOnce = 4096; // as many between two questions

Value list_of(Heap& heap, std::int64_t n) {
  Value v = kNull;
  for (std::int64_t i = 0; i < n; ++i) v = heap.cons(integer(i), v);
  return v;
}

// Says yes to the n-th question from now on.
void stop_at(Heap& heap, int n) {
  heap.stops_releasing = [n]() mutable { return --n == 0; };
}

} // namespace

TEST_CASE("releasing is stopped after some thousands of objects, and goes on with the next one") {
  Heap heap;
  const std::int64_t before = heap.live_bytes();
  Value list = list_of(heap, kPairs), other = heap.cons(kNull, kNull);
  stop_at(heap, 3);
  heap.release(list);
  CHECK(heap.has_set_aside());
  CHECK(heap.live_bytes() - before == 32 * (kPairs - 3 * kAtOnce + 1));
  heap.release(other); // goes the same way
  CHECK(heap.live_bytes() - before == 32 * (kPairs - 3 * kAtOnce + 1));
  stop_at(heap, 2);
  CHECK_FALSE(heap.release_set_aside());
  CHECK(heap.live_bytes() - before == 32 * (kPairs - 5 * kAtOnce + 1));
  CHECK(heap.release_set_aside());
  CHECK_FALSE(heap.has_set_aside());
  CHECK(heap.live_bytes() == before);
  heap.release(heap.cons(kNull, kNull)); // at once again
  CHECK(heap.live_bytes() == before);
}

TEST_CASE("one that is asked to stop each time still comes to its end, whatever it releases") {
  Heap heap;
  const std::int64_t before = heap.live_bytes();
  int destroyed = 0, held = 0;
  Value v = kNull;
  SUBCASE("a list") { v = list_of(heap, kPairs); }
  SUBCASE("a tree") {
    v = list_of(heap, 1);
    for (int i = 0; i < 15; ++i) {
      Value half = v;
      v = heap.cons(half, list_of(heap, 1 << i));
    }
  }
  SUBCASE("a long vector of pairs") {
    Vector* items = heap.make_vector(kPairs);
    for (std::int64_t i = 0; i < kPairs; ++i) items->items()[i] = list_of(heap, 1);
    v = of_other(items);
  }
  SUBCASE("a vector whose length is a number of stretches") {
    Vector* items = heap.make_vector(8 * kAtOnce);
    for (std::int64_t i = 0; i < 8 * kAtOnce; ++i) items->items()[i] = list_of(heap, 1);
    v = of_other(items);
  }
  SUBCASE("vectors in each other") {
    for (int i = 0; i < 20; ++i) {
      Vector* items = heap.make_vector(10'000);
      for (int j = 0; j < 10'000; ++j) items->items()[j] = kNull;
      items->items()[0] = items->items()[9'999] = v;
      if (v.is_object()) Heap::retain(v);
      v = of_other(items);
    }
  }
  SUBCASE("objects of C++") {
    held = 1000;
    for (int i = 0; i < held; ++i)
      v = of_other(heap.make_native(Kind::capsule, heap.own<Holder>(heap.cons(integer(i), v), &destroyed)));
  }
  heap.stops_releasing = [] { return true; };
  heap.release(v);
  std::int64_t live = heap.live_bytes();
  int times = 0;
  for (; heap.has_set_aside(); ++times) {
    CHECK(live > before);
    const bool all = heap.release_set_aside();
    CHECK(all == !heap.has_set_aside());
    CHECK(heap.live_bytes() <= live);
    live = heap.live_bytes();
  }
  CHECK(times >= 3);
  CHECK(heap.live_bytes() == before);
  CHECK(destroyed == held);
}

TEST_CASE("a vector is given up wherever its filling stood") {
  Heap heap;
  const Value witness = list_of(heap, 1);
  const std::int64_t before = heap.live_bytes();
  for (std::int64_t length : {std::int64_t{0}, std::int64_t{10}, kAtOnce, kAtOnce + 1, 3 * kAtOnce, 3 * kAtOnce + 7})
    for (std::int64_t set :
         {std::int64_t{0}, std::int64_t{1}, kAtOnce - 1, kAtOnce, kAtOnce + 1, 2 * kAtOnce, 2 * kAtOnce + 7, length}) {
      if (set > length) continue;
      CAPTURE(length);
      CAPTURE(set);
      for (bool stops : {false, true}) {
        heap.stops_releasing = [stops] { return stops; };
        Vector* v = heap.make_vector(static_cast<std::uint64_t>(length));
        for (std::int64_t i = 0; i < set; ++i) v->items()[i] = list_of(heap, 2);
        for (std::int64_t i = set; i < length; ++i) v->items()[i] = witness; // which has no reference there
        heap.release_begun(v, static_cast<std::uint64_t>(set));
        CHECK(heap.has_set_aside() == (stops && heap.live_bytes() != before));
        heap.release_all_set_aside();
        CHECK(heap.live_bytes() == before);
      }
    }
  heap.release(witness);
  CHECK(heap.live_bytes() < before);
}

TEST_CASE("before a budget refuses, what is set aside goes, as far as it has to") {
  constexpr std::int64_t kBudget = 32 * kPairs + 4096;
  Heap heap;
  heap.set_budget(kBudget);
  Value list = list_of(heap, kPairs);
  heap.stops_releasing = [] { return true; };
  heap.release(list);
  REQUIRE(heap.has_set_aside());
  Value small = list_of(heap, 2 * kAtOnce); // beyond what has been released
  CHECK(heap.has_set_aside());
  Vector* large = heap.make_vector(kPairs);
  CHECK(heap.has_set_aside());
  Vector* rest = heap.make_vector(kPairs * 2);
  CHECK(heap.live_bytes() <= kBudget);
  CHECK_THROWS_AS(heap.make_vector(kPairs * 4), BudgetExceeded);
  CHECK_FALSE(heap.has_set_aside());
  heap.stops_releasing = nullptr;
  heap.discard(large);
  heap.discard(rest);
  heap.release(small);
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("what could be charged counts what is set aside as gone") {
  Heap heap;
  heap.set_budget(32 * kPairs);
  Value list = list_of(heap, kPairs - 1000);
  heap.stops_releasing = [] { return true; };
  heap.release(list);
  CHECK(heap.has_set_aside());
  CHECK(heap.headroom() == 32 * kPairs);
}

TEST_CASE("a symbol that was set aside is made anew") {
  Heap heap;
  Value list = list_of(heap, kPairs), symbol = heap.make_symbol("name");
  stop_at(heap, 1);
  heap.release(list);
  heap.release(symbol);
  REQUIRE(heap.has_set_aside());
  Value again = heap.make_symbol("name");
  CHECK(again.other()->count == 1);
  CHECK(as_text(again)->view() == "name");
  CHECK_FALSE(heap.has_set_aside());
  CHECK(heap.make_symbol("name") == again);
  heap.release(again);
  heap.release(again);
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("at the end of the heap nothing is set aside") {
  int destroyed = 0;
  {
    Heap heap;
    Value v = list_of(heap, kPairs);
    v = heap.cons(of_other(heap.make_native(Kind::capsule, heap.own<Holder>(kNull, &destroyed))), v);
    v = heap.cons(list_of(heap, kPairs), v);
    heap.stops_releasing = [] { return true; };
    heap.release(v);
    CHECK(heap.has_set_aside());
  }
  CHECK(destroyed == 1);
}
