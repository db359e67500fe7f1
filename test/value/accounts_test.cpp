// Accounts: what is live, what was the most, and that a budget that is exceeded leaves everything as it was.
#include "vm/value/heap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace cairn::value;

namespace {

constexpr std::int64_t kMega = 1 << 20;

Value filled(Heap& heap, std::uint64_t length) {
  Vector* v = heap.make_vector(length);
  std::fill(v->items(), v->items() + length, kNull);
  return of_other(v);
}

} // namespace

TEST_CASE("live bytes are those of the objects, rounded up to 16") {
  Heap heap;
  Value pair = heap.cons(kNull, kNull);
  CHECK(heap.heap_live() == 32);
  Value vector = filled(heap, 1);
  CHECK(heap.heap_live() == 64);
  Value large = filled(heap, 100'001);
  CHECK(heap.heap_live() == 64 + 24 + 8 * 100'001);
  Value text = heap.make_string(std::string(3000, 'x'));
  CHECK(heap.heap_live() == 64 + 24 + 8 * 100'001 + 24 + 3000);
  heap.release(large);
  heap.release(text);
  heap.release(pair);
  CHECK(heap.heap_live() == 32);
  heap.release(vector);
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("a budget that is exceeded leaves accounts and objects as they were") {
  Heap heap;
  heap.set_budget(kMega);
  std::vector<Value> kept;
  auto exceed = [&](auto request) {
    std::int64_t live = heap.live_bytes(), tape = heap.tape.live, capsules = heap.capsules.live;
    std::int64_t tape_peak = heap.tape.peak;
    std::uint64_t serial = heap.next_serial;
    CHECK_THROWS_AS(request(), BudgetExceeded);
    CHECK(heap.live_bytes() == live);
    CHECK(heap.tape.live == tape);
    CHECK(heap.tape.peak == tape_peak);
    CHECK(heap.capsules.live == capsules);
    CHECK(heap.next_serial == serial);
  };
  auto fill_with_pairs = [&] {
    for (;;) kept.push_back(heap.cons(kNull, kNull));
  };
  CHECK_THROWS_AS(fill_with_pairs(), BudgetExceeded);
  CHECK(heap.live_bytes() <= kMega);
  CHECK(heap.live_bytes() > kMega - 32);
  CHECK(kept.size() == kMega / 32);
  for (int again = 0; again < 3; ++again) {
    exceed([&] { heap.cons(kNull, kNull); });
    exceed([&] { heap.make_vector(1); });
    exceed([&] { heap.make_vector(1'000'000); });
    exceed([&] { heap.make_string(std::string(2 * kMega, 'x')); });
    exceed([&] { heap.make_symbol("a symbol that is not there"); });
    exceed([&] { heap.charge(heap.tape, 1); });
    exceed([&] { heap.charge(heap.capsules, kMega); });
  }
  heap.release(kept.back());
  kept.pop_back();
  kept.push_back(heap.cons(kNull, kNull)); // what was given back can be had again, and no more
  exceed([&] { heap.cons(kNull, kNull); });
  for (Value v : kept) heap.release(v);
  CHECK(heap.live_bytes() == 0);
  Value most = filled(heap, (kMega - 24) / 8);
  exceed([&] { heap.cons(kNull, kNull); });
  heap.release(most);
  CHECK(heap.live_bytes() == 0);
}

namespace {

// What is said to a request of 8 MiB.
std::string refusal_of(Heap& heap) {
  try {
    heap.make_vector(1 << 20);
  } catch (const BudgetExceeded& e) {
    return e.what();
  }
  return "";
}

} // namespace

TEST_CASE("the message names budget, request and accounts") {
  Heap heap;
  heap.set_budget(4 * kMega);
  heap.charge(heap.tape, 2 * kMega);
  heap.charge(heap.capsules, kMega);
  Value v = filled(heap, 65536 - 3); // half a mebibyte
  CHECK(refusal_of(heap) ==
        "memory budget of 4.0 MiB exceeded by a request of 8388640 bytes: heap 0.5 MiB, tape 2.0 MiB, capsules 1.0 MiB");
  heap.release(v);
}

TEST_CASE("what was refused is not among what the message says is held") {
  Heap heap;
  heap.set_budget(4 * kMega);
  heap.charge(heap.tensors, kMega);
  try {
    heap.charge(heap.tensors, 5 * kMega);
    FAIL("went over its budget");
  } catch (const BudgetExceeded& e) {
    CHECK(std::string(e.what()) == "memory budget of 4.0 MiB exceeded by a request of 5242880 bytes: heap 0.0 MiB, tape 0.0 MiB, "
                                   "capsules 0.0 MiB, tensors 1.0 MiB");
  }
  CHECK_THROWS_WITH_AS(heap.charge(heap.scratch, 5 * kMega, 1),
                       "memory budget of 4.0 MiB exceeded by a request of 5242881 bytes: heap 0.0 MiB, tape 0.0 MiB, capsules "
                       "0.0 MiB, tensors 1.0 MiB",
                       BudgetExceeded);
  heap.charge(heap.tensors, -kMega);
}

TEST_CASE("the message does not say that a small budget is none") {
  Heap heap;
  heap.set_budget(20'000);
  heap.charge(heap.tape, 512);
  CHECK(refusal_of(heap) ==
        "memory budget of 19.5 KiB exceeded by a request of 8388640 bytes: heap 0.0 MiB, tape 0.5 KiB, capsules 0.0 MiB");
}

TEST_CASE("a budget may be set below what is live: then nothing more is given until enough is back") {
  Heap heap;
  Value a = filled(heap, 10'000), b = filled(heap, 10'000);
  heap.set_budget(100'000);
  CHECK_THROWS_AS(heap.cons(kNull, kNull), BudgetExceeded);
  heap.release(a);
  Value c = heap.cons(kNull, kNull);
  heap.set_budget(0);
  Value d = filled(heap, 1'000'000);
  for (Value v : {b, c, d}) heap.release(v);
  CHECK(heap.live_bytes() == 0);
}

TEST_CASE("peaks follow the most that was live, each account its own") {
  Heap heap;
  std::mt19937 random(1);
  auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<Value> kept;
  std::vector<std::int64_t> charges;
  std::int64_t heap_most = 0, tape_most = 0;
  for (int i = 0; i < 20'000; ++i) {
    bool growing = i / 2000 % 2 == 0;
    if (pick(3) == 0 && (growing ? pick(2) : pick(8)) == 0) {
      charges.push_back(static_cast<std::int64_t>(1 + pick(100'000)));
      heap.charge(heap.tape, charges.back());
    } else if (pick(3) == 0 && !charges.empty()) {
      heap.charge(heap.tape, -charges.back());
      charges.pop_back();
    } else if (pick(10) < (growing ? 6u : 4u)) {
      kept.push_back(pick(50) == 0 ? filled(heap, pick(3000)) : heap.cons(kNull, kNull));
    } else if (!kept.empty()) {
      std::swap(kept[pick(kept.size())], kept.back());
      heap.release(kept.back());
      kept.pop_back();
    }
    heap_most = std::max(heap_most, heap.heap_live());
    tape_most = std::max(tape_most, heap.tape.live);
    REQUIRE(heap.tape.peak == tape_most);
    REQUIRE(heap.heap_peak() + Heap::kGranularity >= heap_most);
    REQUIRE(heap.heap_peak() <= heap_most);
  }
}

TEST_CASE("the peak of the heap is seen although a tape was larger before") {
  Heap heap;
  heap.charge(heap.tape, 100 * kMega);
  heap.charge(heap.tape, -100 * kMega);
  std::vector<Value> kept;
  for (std::int64_t i = 0; i < 10 * kMega / 32; ++i) kept.push_back(heap.cons(kNull, kNull));
  CHECK(heap.heap_peak() >= 10 * kMega - Heap::kGranularity);
  CHECK(heap.tape.peak == 100 * kMega);
  for (Value v : kept) heap.release(v);
}
