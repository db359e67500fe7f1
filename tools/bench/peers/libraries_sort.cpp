// Sorting by Cairn and by Highway's vqsort, called on the same numbers in one thread. vqsort sorts keys, or pairs of a key and a
// value; so places come from pairs of an element's key and its place, which also keeps equal elements in their order, as Cairn
// does. Arguments: rounds, elements, a multiple of 4096. Prints the version of Highway, then a line for each operation and type:
//   operation type ms, time of vqsort / Cairn's
// and ends with code 1 where the two differ. `sort-lines` has lines of 4096. `top` sorts what is sought alone where vqsort can
// (from 1.1 on), else everything.
#include "guest.h"
#include "side_by_side.h"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace {

#if HWY_MAJOR > 1 || HWY_MINOR >= 1
constexpr bool kPartial = true;
template <class T> void sorted(T* keys, std::size_t n) { hwy::VQSort(keys, n, hwy::SortAscending()); }
template <class T> void least(T* keys, std::size_t n, std::size_t k) { hwy::VQPartialSort(keys, n, k, hwy::SortAscending()); }
#else
constexpr bool kPartial = false;
template <class T> void sorted(T* keys, std::size_t n) {
  static const hwy::Sorter sorter;
  sorter(keys, n, hwy::SortAscending());
}
template <class T> void least(T* keys, std::size_t n, std::size_t) { sorted(keys, n); }
#endif

template <class T> struct Of;
template <> struct Of<float> {
  using Key = std::uint32_t;
  using Pair = hwy::K32V32;
  static Pair pair(Key key, std::uint64_t place) { return {static_cast<std::uint32_t>(place), key}; }
  static constexpr const char* kName = "f32";
};
template <> struct Of<double> {
  using Key = std::uint64_t;
  using Pair = hwy::uint128_t;
  static Pair pair(Key key, std::uint64_t place) { return {place, key}; }
  static constexpr const char* kName = "f64";
};
std::uint64_t place_of(const hwy::K32V32& pair) { return pair.value; }
std::uint64_t place_of(const hwy::uint128_t& pair) { return pair.lo; }

// Pairs of 32 bits are compared by their keys alone; as one number they are compared by their places too.
std::uint64_t* comparable(hwy::K32V32* pairs) { return reinterpret_cast<std::uint64_t*>(pairs); }
hwy::uint128_t* comparable(hwy::uint128_t* pairs) { return pairs; }

// In the order of the numbers; of no NaNs and zeros of one sign.
template <class T> typename Of<T>::Key key_of(T x) {
  using Key = typename Of<T>::Key;
  const Key bits = std::bit_cast<Key>(x), sign = Key{1} << (8 * sizeof(T) - 1);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

constexpr std::size_t kLine = 4096;
bool g_same = true;

template <class T> void compare(int rounds, std::size_t n) {
  using Key = typename Of<T>::Key;
  const std::string type = Of<T>::kName;
  bench::Guest guest(
      "(define x (randn '(" + std::to_string(n) + ") '" + type + "))\n(define lines (view x '(" + std::to_string(n / kLine) +
      " " + std::to_string(kLine) +
      ")))\n(define (sorted-lines) (sort lines 1))\n(define (sorted) (sort x 0))\n(define (places) (argsort x 0))\n"
      "(define (few) (car (top-k x 10 0)))\n(define (many) (car (top-k x 10000 0)))\n"
      "(define (few-places) (cadr (top-k x 10 0)))\n(define (many-places) (cadr (top-k x 10000 0)))\n");
  const std::vector<T> x = guest.elements<T>("x");
  std::vector<T> values(n);
  std::vector<typename Of<T>::Pair> pairs(n);
  std::vector<std::int64_t> places(n);
  const auto by_places = [&](std::size_t k, bool descending) {
    for (std::size_t i = 0; i < n; ++i) pairs[i] = Of<T>::pair(descending ? static_cast<Key>(~key_of(x[i])) : key_of(x[i]), i);
    if (k == n)
      sorted(comparable(pairs.data()), n);
    else
      least(comparable(pairs.data()), n, k);
    for (std::size_t i = 0; i < k; ++i) places[i] = static_cast<std::int64_t>(place_of(pairs[i]));
    if (descending)
      for (std::size_t i = 0; i < k; ++i) values[i] = x[static_cast<std::size_t>(places[i])];
  };
  const auto show = [&](const char* what, const char* procedure, const bench::Round& theirs) {
    const bench::Sides sides = bench::side_by_side(rounds, {guest.procedure(procedure), theirs});
    std::printf("%s %s %.3f %.2f\n", what, type.c_str(), sides.seconds * 1e3, sides.ratios[1]);
    std::fflush(stdout);
  };
  const auto same = [&](const auto& ours, const auto& theirs) {
    g_same = g_same && std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(ours[0])) == 0;
  };
  show("sort", "sorted", [&] {
    std::copy(x.begin(), x.end(), values.begin());
    sorted(values.data(), n);
  });
  same(guest.result<T>("sorted"), values);
  show("sort-lines", "sorted-lines", [&] {
    std::copy(x.begin(), x.end(), values.begin());
    for (std::size_t line = 0; line < n; line += kLine) sorted(&values[line], kLine);
  });
  same(guest.result<T>("sorted-lines"), values);
  show("argsort", "places", [&] { by_places(n, false); });
  same(guest.result<std::int64_t>("places"), places);
  show("top-10", "few", [&] { by_places(std::min<std::size_t>(10, n), true); });
  same(guest.result<std::int64_t>("few-places"), places);
  same(guest.result<T>("few"), values);
  show("top-10000", "many", [&] { by_places(std::min<std::size_t>(10000, n), true); });
  same(guest.result<std::int64_t>("many-places"), places);
  same(guest.result<T>("many"), values);
}

} // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  std::printf("%d.%d %s\n", HWY_MAJOR, HWY_MINOR, kPartial ? "partial" : "whole");
  compare<float>(std::atoi(arguments[1]), static_cast<std::size_t>(std::atoll(arguments[2])));
  compare<double>(std::atoi(arguments[1]), static_cast<std::size_t>(std::atoll(arguments[2])));
  if (!g_same) std::printf("WRONG\n");
  return g_same ? 0 : 1;
}
