// Elements and rows by their indices, in all types of both, and in sizes at which kernels take other ways: rows that are moved or
// added at once or one element at a time, lines alone and side by side, more of them than a piece has. What is expected is made
// by plain loops that add in double in the order of the indices, and has to come out with the same bits.
#include "ops/operators/runtime.h"
#include "test/ops/testing.h"

#include <numeric>

using namespace cairn::ops;
using namespace cairn::ops::test;
using O = OperatorId;
using Numbers = std::vector<double>;

namespace {

constexpr DType kIndexTypes[] = {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64};
constexpr DType kElementTypes[] = {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i32, DType::u8};

Numbers indices_below(std::mt19937_64& random, std::int64_t n, std::int64_t size) {
  Numbers all(static_cast<std::size_t>(n));
  for (double& d : all) d = static_cast<double>(random() % static_cast<std::uint64_t>(size));
  return all;
}

// Numbers that each type holds, whose sums are rounded.
Tensor elements(World& w, std::mt19937_64& random, const Shape& shape, DType type) {
  const bool floating = is_floating(type);
  Numbers numbers = numbers_between(random, shape.elements(), floating ? -1 : 0, floating ? 1 : 9);
  return w.tensor(shape, numbers, type);
}

std::int64_t product(const Shape& shape, int from, int to) {
  return std::accumulate(shape.begin() + from, shape.begin() + to, std::int64_t{1}, std::multiplies<>());
}

// f(target, source) for all elements of indices along an axis: where they go in a tensor of the shape, in row-major order.
template <class F> void each_place(const Shape& shape, const Shape& indices, int axis, const Numbers& index, F&& f) {
  const std::int64_t n = indices.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, target = 0, stride = 1;
    for (int a = shape.rank(); a-- > 0;) {
      const std::int64_t at = rest % indices[a];
      rest /= indices[a];
      target += (a == axis ? static_cast<std::int64_t>(index[static_cast<std::size_t>(i)]) : at) * stride;
      stride *= shape[a];
    }
    f(static_cast<std::size_t>(target), static_cast<std::size_t>(i));
  }
}

struct IndexKind {
  Shape shape, indices; // of the tensor, and of indices and elements
  int axis = 0;
  unsigned stretched = 0; // axes along which indices are repeated
};

// Indices of a shape that are the same along some axes, by a stride of 0.
Tensor indices_of(World& w, std::mt19937_64& random, const IndexKind& kind, DType type) {
  Shape few = kind.indices;
  for (int i = 0; i < few.rank(); ++i)
    if ((kind.stretched >> i & 1) != 0) few[i] = 1;
  const std::int64_t most = type == DType::i8 ? 127 : type == DType::u8 ? 255 : INT16_MAX;
  const Tensor t = w.tensor(few, indices_below(random, few.elements(), std::min(kind.shape[kind.axis], most)), type);
  const std::vector<std::int64_t> sizes(kind.indices.begin(), kind.indices.end());
  return applied(w.rt, O::expand, {t}, with({list(sizes)}));
}

void check_kind(World& w, std::mt19937_64& random, const IndexKind& kind, DType type, DType index_type) {
  CAPTURE(kind.shape.text());
  CAPTURE(kind.indices.text());
  CAPTURE(kind.axis);
  CAPTURE(name_of(type));
  CAPTURE(name_of(index_type));
  const Tensor base = elements(w, random, kind.shape, type), source = elements(w, random, kind.indices, type),
               indices = indices_of(w, random, kind, index_type);
  const Numbers before = w.rt.read_numbers(base), added = w.rt.read_numbers(source), index = w.rt.read_numbers(indices);
  Numbers taken(added.size()), sums = before;
  each_place(kind.shape, kind.indices, kind.axis, index, [&](std::size_t target, std::size_t i) {
    taken[i] = before[target];
    sums[target] += added[i];
  });
  const bool gathered = w.rt.read_numbers(applied(w.rt, O::gather, {base, indices}, with({integer(kind.axis)}))) == taken;
  CHECK(gathered);
  const bool scattered = w.rt.read_numbers(applied(w.rt, O::scatter_add, {base, indices, source}, with({integer(kind.axis)}))) ==
                         w.rt.read_numbers(w.tensor(kind.shape, sums, type));
  CHECK(scattered);
}

} // namespace

TEST_CASE("gather and scatter-add go to each element in the order of the indices") {
  World w;
  std::mt19937_64 random(5);
  for (const std::int64_t row : {1, 7, 8, 64, 600}) {
    const IndexKind kinds[] = {
        {{20, row}, {50, row}, 0, 2},       {{20, row}, {50, row}, 0, 0},       {{row, 20}, {row, 50}, 1, 0},
        {{row, 20}, {row, 5}, 1, 0},        {{row, 20}, {row, 50}, 1, 1},       {{3, 20, row}, {3, 50, row}, 1, 4},
        {{3, 20, row}, {3, 50, row}, 1, 5}, {{20, 3, row}, {50, 2, row}, 0, 6}, {{20, 3, row}, {50, 3, row}, 0, 6},
        {{20, row + 2}, {50, row}, 0, 2},   {{20, row + 2}, {50, row}, 0, 0},   {{3, row, 20}, {2, row, 40}, 2, 0},
    };
    for (const IndexKind& kind : kinds) {
      for (const DType type : kElementTypes) check_kind(w, random, kind, type, DType::i64);
      for (const DType type : kIndexTypes) check_kind(w, random, kind, DType::f32, type);
    }
  }
}

TEST_CASE("and where there are more of them than a piece has") {
  World w;
  std::mt19937_64 random(6);
  const IndexKind kinds[] = {
      {{3000, 64}, {9000, 64}, 0, 2}, {{3000, 40}, {9000, 40}, 0, 0}, {{40, 3000}, {40, 9000}, 1, 0},
      {{9000, 5}, {9000, 3}, 1, 0},   {{70'000}, {90'000}, 0, 0},     {{5, 70'000}, {9, 70'000}, 0, 2},
  };
  for (const IndexKind& kind : kinds)
    for (const DType type : {DType::f32, DType::bf16, DType::f64}) check_kind(w, random, kind, type, DType::i64);
}

TEST_CASE("elements of another type than the sums are added as those of the sums are") {
  World w;
  const Tensor base = w.tensor({3, 9}, Numbers(27, 1), DType::f64);
  const Tensor indices = w.tensor({4, 1}, {2, 0, 2, 2}, DType::i64);
  const Tensor stretched = applied(w.rt, O::expand, {indices}, with({list({4, 9})}));
  for (const DType type : {DType::i32, DType::i64, DType::u8, DType::f32})
    for (const Tensor& t : {stretched, applied(w.rt, O::contiguous, {stretched})}) {
      const Tensor source = w.tensor({4, 9}, Numbers(36, 2), type);
      const Tensor sums = applied(w.rt, O::scatter_add, {base, t, source}, with({integer(0)}));
      CHECK(sums.dtype == DType::f64);
      Numbers expected(27, 1);
      std::fill_n(expected.begin(), 9, 3);
      std::fill_n(expected.begin() + 18, 9, 7);
      CHECK(w.rt.read_numbers(sums) == expected);
    }
}

TEST_CASE("rows of a table, and the sums of rows") {
  World w;
  std::mt19937_64 random(7);
  for (const Shape& table : {Shape{20}, Shape{20, 7}, Shape{20, 64}, Shape{20, 3, 600}, Shape{4, 40'000}})
    for (const DType type : {DType::f32, DType::bf16, DType::f64})
      for (const DType index_type : kIndexTypes) {
        CAPTURE(table.text());
        CAPTURE(name_of(type));
        CAPTURE(name_of(index_type));
        const std::int64_t length = product(table, 1, table.rank());
        const Tensor rows = elements(w, random, table, type);
        const Tensor indices = w.tensor({3, 5}, indices_below(random, 15, table[0]), index_type);
        const Numbers index = w.rt.read_numbers(indices), all = w.rt.read_numbers(rows);
        Numbers taken, sums(all.size());
        const Tensor out = applied(w.rt, O::embedding, {rows, indices});
        const Tensor cotangent = elements(w, random, out.shape, type);
        const Numbers added = w.rt.read_numbers(cotangent);
        for (std::size_t i = 0; i < index.size(); ++i)
          for (std::int64_t k = 0; k < length; ++k) {
            const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(index[i]) * length + k);
            taken.push_back(all[at]);
            sums[at] += added[i * static_cast<std::size_t>(length) + static_cast<std::size_t>(k)];
          }
        CHECK((w.rt.read_numbers(out) == taken));
        const std::vector<std::int64_t> sizes(table.begin(), table.end());
        CHECK((w.rt.read_numbers(applied(w.rt, O::embedding_vjp, {cotangent, indices}, with({list(sizes)}))) ==
               w.rt.read_numbers(w.tensor(table, sums, type))));
      }
}

TEST_CASE("the first index that is nowhere is named, in all types, wherever it stands") {
  World w;
  const auto error = [&](const Tensor& indices, std::int64_t size) -> std::string {
    const Tensor t = w.tensor({size}, Numbers(static_cast<std::size_t>(size)));
    try {
      applied(w.rt, O::gather, {t, indices}, with({integer(0)}));
    } catch (const OperatorError& e) {
      return e.what();
    }
    return "";
  };
  for (const DType type : kIndexTypes)
    for (const std::size_t place : {std::size_t{0}, std::size_t{15}, std::size_t{5000}, std::size_t{39'999}}) {
      CAPTURE(name_of(type));
      CAPTURE(place);
      Numbers numbers(40'000, 6);
      CHECK(error(w.tensor({40'000}, numbers, type), 7).empty());
      numbers[place] = 7;
      if (place + 1 < numbers.size()) numbers[place + 1] = 9;
      CHECK(error(w.tensor({40'000}, numbers, type), 7) == "gather: there is no index 7 along an axis of size 7");
      if (type == DType::u8) continue;
      numbers[place] = -1;
      CHECK(error(w.tensor({40'000}, numbers, type), 7) == "gather: there is no index -1 along an axis of size 7");
    }
}
