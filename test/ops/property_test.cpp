// Operators on random views of random tensors, of all types, against references of a few lines that know neither strides nor
// types. Elements are small integers, so every type gives the same numbers exactly.
#include "ops/convert.h"
#include "test/ops/testing.h"

#include <algorithm>
#include <functional>

using namespace cairn::ops;
using namespace cairn::ops::test;

namespace {

using Index = std::vector<std::int64_t>;

// A tensor as a function of an index.
struct Model {
  Index shape;
  std::vector<double> numbers; // row-major

  std::int64_t place(const Index& at) const {
    std::int64_t p = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) p = p * shape[i] + at[i];
    return p;
  }
  double operator()(const Index& at) const { return numbers[static_cast<std::size_t>(place(at))]; }
};

Model made(const Index& shape, const std::function<double(const Index&)>& f) {
  Model m;
  m.shape = shape;
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  Index at(shape.size(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i;
    for (std::size_t k = shape.size(); k-- > 0;) {
      at[k] = rest % shape[k];
      rest /= shape[k];
    }
    m.numbers.push_back(f(at));
  }
  return m;
}

struct Both {
  Tensor tensor;
  Model model;
};

struct Random {
  std::mt19937_64 engine;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  Index shape(int most_axes, std::int64_t most) {
    Index out(static_cast<std::size_t>(below(most_axes + 1)));
    for (std::int64_t& size : out) size = one_in(15) ? 0 : one_in(5) ? 1 : 1 + below(most);
    return out;
  }
};

class Worlds {
public:
  explicit Worlds(std::uint64_t seed) { random.engine.seed(seed); }
  World w;
  Random random;

  DType type() {
    constexpr DType all[] = {DType::f64, DType::f32, DType::bf16, DType::i64, DType::i32, DType::i16, DType::i8};
    return all[random.below(7)];
  }
  Both fresh(const Index& shape, DType type) {
    Both b;
    b.model = made(shape, [&](const Index&) { return static_cast<double>(random.below(7) - 3); });
    b.tensor = w.tensor(Shape{std::span<const std::int64_t>(shape)}, b.model.numbers, type);
    return b;
  }
  // Of the shape given, seen through strides of some kind.
  Both of_shape(const Index& shape, DType type) {
    switch (random.below(4)) {
    case 0: { // permuted
      Index order(shape.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
      std::shuffle(order.begin(), order.end(), random.engine);
      Index before(shape.size());
      for (std::size_t i = 0; i < order.size(); ++i) before[static_cast<std::size_t>(order[i])] = shape[i];
      Both b = fresh(before, type);
      b.tensor = applied(w.rt, OperatorId::permute, {b.tensor}, with({list(order)}));
      const Model inner = b.model;
      b.model = made(shape, [&](const Index& at) {
        Index from(at.size());
        for (std::size_t i = 0; i < at.size(); ++i) from[static_cast<std::size_t>(order[i])] = at[i];
        return inner(from);
      });
      return b;
    }
    case 1: { // a part of a larger one
      if (shape.empty()) return fresh(shape, type);
      const auto axis = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(shape.size())));
      Index wide = shape;
      const std::int64_t first = random.below(3);
      wide[axis] += first + random.below(2);
      Both b = fresh(wide, type);
      b.tensor = applied(w.rt, OperatorId::narrow, {b.tensor},
                         with({integer(static_cast<std::int64_t>(axis)), integer(first), integer(shape[axis])}));
      const Model inner = b.model;
      b.model = made(shape, [&](Index at) {
        at[axis] += first;
        return inner(at);
      });
      return b;
    }
    case 2: { // stretched
      Index narrow = shape;
      for (std::int64_t& size : narrow)
        if (random.one_in(2)) size = 1;
      const auto gone = static_cast<std::ptrdiff_t>(random.below(static_cast<std::int64_t>(shape.size()) + 1));
      if (random.one_in(3)) narrow.erase(narrow.begin(), narrow.begin() + gone);
      Both b = fresh(narrow, type);
      b.tensor = applied(w.rt, OperatorId::expand, {b.tensor}, with({list(shape)}));
      b.model = made(shape, [inner = b.model](const Index& at) { return inner(stretched(at, inner.shape)); });
      return b;
    }
    default:
      return fresh(shape, type);
    }
  }
  static Index stretched(const Index& at, const Index& shape) {
    Index from(at.end() - static_cast<std::ptrdiff_t>(shape.size()), at.end());
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == 1) from[i] = 0;
    return from;
  }
  void same(const Tensor& t, const Model& m) {
    CHECK(t.shape == Shape{std::span<const std::int64_t>(m.shape)});
    CHECK(w.rt.read_numbers(t) == m.numbers);
  }
};

constexpr int kRounds = 400;

} // namespace

TEST_CASE("views are read and copied in row-major order") {
  Worlds w(1);
  for (int round = 0; round < kRounds; ++round) {
    const Both b = w.of_shape(w.random.shape(8, 3), w.type());
    w.same(b.tensor, b.model);
    const Tensor copy = applied(w.w.rt, OperatorId::contiguous, {b.tensor});
    CHECK(copy.contiguous());
    w.same(copy, b.model);
    w.same(applied(w.w.rt, OperatorId::view, {b.tensor}, with({list({b.tensor.elements()})})),
           made({b.tensor.elements()}, [&](const Index& at) { return b.model.numbers[static_cast<std::size_t>(at[0])]; }));
  }
}

TEST_CASE("large copies between layouts move every element") {
  Worlds w(2);
  for (const Index& shape : {Index{300, 200}, Index{3, 130, 170}, Index{64, 3, 70, 5}}) {
    const Both b = w.fresh(shape, DType::f32);
    const Tensor swapped = applied(w.w.rt, OperatorId::transpose, {b.tensor}, with({absent(), absent()}));
    Index to = shape;
    std::swap(to[to.size() - 1], to[to.size() - 2]);
    w.same(applied(w.w.rt, OperatorId::contiguous, {swapped}), made(to, [&](Index at) {
             std::swap(at[at.size() - 1], at[at.size() - 2]);
             return b.model(at);
           }));
  }
}

TEST_CASE("pointwise operators broadcast operands of any layout and type") {
  Worlds w(3);
  for (int round = 0; round < kRounds; ++round) {
    const Index shape = w.random.shape(round % 7 == 0 ? 8 : 4, 5);
    auto some = [&] {
      Index part = shape;
      for (std::int64_t& size : part)
        if (w.random.one_in(3)) size = 1;
      if (w.random.one_in(4))
        part.erase(part.begin(),
                   part.begin() + static_cast<std::ptrdiff_t>(w.random.below(static_cast<std::int64_t>(part.size()) + 1)));
      return w.of_shape(part, w.type());
    };
    const Both a = w.of_shape(shape, w.type()), b = some(), c = some();
    auto both = [&](auto f) {
      return made(shape, [&](const Index& at) {
        return f(a.model(Worlds::stretched(at, a.model.shape)), b.model(Worlds::stretched(at, b.model.shape)));
      });
    };
    w.same(applied(w.w.rt, OperatorId::add, {a.tensor, b.tensor}), both([](double x, double y) { return x + y; }));
    w.same(applied(w.w.rt, OperatorId::mul, {a.tensor, b.tensor}), both([](double x, double y) { return x * y; }));
    w.same(applied(w.w.rt, OperatorId::max, {a.tensor, b.tensor}), both([](double x, double y) { return std::max(x, y); }));
    w.same(applied(w.w.rt, OperatorId::less, {a.tensor, b.tensor}), both([](double x, double y) { return x < y ? 1.0 : 0.0; }));
    w.same(applied(w.w.rt, OperatorId::sub, {a.tensor, weak_number(2, true)}), both([](double x, double) { return x - 2; }));
    w.same(applied(w.w.rt, OperatorId::where, {c.tensor, a.tensor, b.tensor}), made(shape, [&](const Index& at) {
             return c.model(Worlds::stretched(at, c.model.shape)) != 0 ? a.model(at)
                                                                       : b.model(Worlds::stretched(at, b.model.shape));
           }));
    const Tensor y = applied(w.w.rt, OperatorId::add, {a.tensor, b.tensor});
    CHECK(y.dtype == promoted(a.tensor.dtype, b.tensor.dtype));
  }
}

TEST_CASE("many short rows, with operands stretched along and across them") {
  Worlds w(9);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{10}, std::int64_t{64}, std::int64_t{65}})
    for (const Index& part : {Index{n}, Index{1, 1}, Index{3, 1, 1}, Index{701, 1}, Index{3, 1, n}}) {
      const Both a = w.fresh({3, 701, n}, w.type()), b = w.fresh(part, w.type());
      const Tensor y = applied(w.w.rt, OperatorId::sub, {a.tensor, b.tensor});
      const Model expected =
          made(a.model.shape, [&](const Index& at) { return a.model(at) - b.model(Worlds::stretched(at, b.model.shape)); });
      w.same(y, expected);
      w.same(applied(w.w.rt, OperatorId::less, {b.tensor, a.tensor}), made(a.model.shape, [&](const Index& at) {
               return b.model(Worlds::stretched(at, b.model.shape)) < a.model(at) ? 1.0 : 0.0;
             }));
    }
}

TEST_CASE("softmax of rows of any length and layout") {
  Worlds w(10);
  for (const Index& shape : {Index{1000, 3}, Index{7, 64}, Index{7, 65}, Index{3, 600}, Index{4, 5'000}, Index{40, 3, 7}})
    for (const std::int64_t axis : {std::int64_t{-1}, std::int64_t{0}})
      for (const bool logarithm : {false, true}) {
        const Both a = w.of_shape(shape, DType::f64);
        const std::size_t along = axis == 0 ? 0 : shape.size() - 1;
        Index kept = shape;
        kept[along] = 1;
        Model sums = made(kept, [](const Index&) { return 0.0; });
        made(shape, [&](Index at) {
          const double e = std::exp(a.model(at));
          at[along] = 0;
          return sums.numbers[static_cast<std::size_t>(sums.place(at))] += e;
        });
        const auto op = logarithm ? OperatorId::log_softmax : OperatorId::softmax;
        const std::vector<double> y = w.w.rt.read_numbers(applied(w.w.rt, op, {a.tensor}, with({integer(axis)})));
        const Model expected = made(shape, [&](Index at) {
          const double x = a.model(at);
          at[along] = 0;
          return logarithm ? x - std::log(sums(at)) : std::exp(x) / sums(at);
        });
        double worst = 0;
        for (std::size_t i = 0; i < y.size(); ++i) worst = std::max(worst, std::fabs(y[i] - expected.numbers[i]));
        CHECK(worst < 1e-12);
      }
}

TEST_CASE("reductions over any axes of any layout") {
  Worlds w(4);
  for (int round = 0; round < kRounds; ++round) {
    const Index shape = w.random.shape(round % 7 == 0 ? 8 : 5, round % 5 == 0 ? 20 : 4);
    const Both a = w.of_shape(shape, w.type());
    Index axes, kept;
    std::vector<bool> gone(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      gone[i] = w.random.one_in(2);
      if (gone[i])
        axes.push_back(static_cast<std::int64_t>(i) - (w.random.one_in(2) ? static_cast<std::int64_t>(shape.size()) : 0));
      kept.push_back(gone[i] ? 1 : shape[i]);
    }
    std::vector<double> sums(static_cast<std::size_t>(made(kept, [](const Index&) { return 0; }).numbers.size()), 0);
    std::vector<double> largest(sums.size(), -100);
    Model results;
    results.shape = kept;
    made(shape, [&](Index at) {
      const double x = a.model(at);
      for (std::size_t i = 0; i < at.size(); ++i)
        if (gone[i]) at[i] = 0;
      const auto p = static_cast<std::size_t>(results.place(at));
      sums[p] += x;
      largest[p] = std::max(largest[p], x);
      return 0.0;
    });
    const bool keep = w.random.one_in(2);
    if (!keep) {
      results.shape.clear();
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (!gone[i]) results.shape.push_back(shape[i]);
    }
    const Attributes attributes = with({list(axes), keep ? integer(1) : absent()});
    results.numbers = sums;
    w.same(applied(w.w.rt, OperatorId::sum, {a.tensor}, attributes), results);
    if (keep)
      w.same(applied(w.w.rt, OperatorId::sum_to, {applied(w.w.rt, OperatorId::cast, {a.tensor}, World::types(DType::f64))},
                     with({list(kept)})),
             results);
    if (a.tensor.elements() != 0) {
      results.numbers = largest;
      w.same(applied(w.w.rt, OperatorId::max_over, {a.tensor}, attributes), results);
    }
  }
}

TEST_CASE("large reductions add every element once") {
  Worlds w(5);
  for (const Index& shape : {Index{1000, 700}, Index{300'000, 3}, Index{7, 400, 300}, Index{40'000, 64}}) {
    const Both a = w.fresh(shape, DType::f32);
    for (const std::int64_t axis : {std::int64_t{0}, std::int64_t{-1}}) {
      Index kept = shape;
      kept[axis == 0 ? 0 : shape.size() - 1] = 1;
      Model results = made(kept, [](const Index&) { return 0; });
      for (std::size_t i = 0; i < a.model.numbers.size(); ++i) {
        const std::size_t last = static_cast<std::size_t>(shape.back());
        const std::size_t to = axis == 0 ? i % results.numbers.size() : i / last;
        results.numbers[to] += a.model.numbers[i];
      }
      w.same(applied(w.w.rt, OperatorId::sum, {a.tensor}, with({list({axis}), integer(1)})), results);
    }
    double all = 0;
    for (const double d : a.model.numbers) all += d;
    CHECK(w.w.rt.read_number(applied(w.w.rt, OperatorId::sum, {a.tensor})) == all);
  }
}

TEST_CASE("products of stacks of matrices of any layout") {
  Worlds w(6);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t most = round % 10 == 0 ? 90 : 9;
    const std::int64_t m = w.random.below(most), k = w.random.below(most), n = w.random.below(most);
    const Index stack = w.random.shape(2, 3);
    auto some = [&](std::int64_t rows, std::int64_t columns) {
      Index shape = stack;
      for (std::int64_t& size : shape)
        if (w.random.one_in(3)) size = 1;
      if (w.random.one_in(3)) shape.clear();
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    const Both a = w.of_shape(some(m, k), w.type()), b = w.of_shape(some(k, n), w.type());
    Index shape;
    const Shape both = broadcast("test", Shape{std::span<const std::int64_t>(a.model.shape).first(a.model.shape.size() - 2)},
                                 Shape{std::span<const std::int64_t>(b.model.shape).first(b.model.shape.size() - 2)});
    shape.assign(both.begin(), both.end());
    shape.push_back(m);
    shape.push_back(n);
    // In 8 and 16 bits sums wrap, in bf16 they are rounded.
    const DType type = promoted(a.tensor.dtype, b.tensor.dtype);
    if (type == DType::i8 || type == DType::bf16) continue;
    w.same(applied(w.w.rt, OperatorId::matmul, {a.tensor, b.tensor}), made(shape, [&](const Index& at) {
             Index in_a = at, in_b = at;
             double sum = 0;
             for (std::int64_t p = 0; p < k; ++p) {
               in_a[at.size() - 1] = p;
               in_b[at.size() - 2] = p;
               sum += a.model(Worlds::stretched(in_a, a.model.shape)) * b.model(Worlds::stretched(in_b, b.model.shape));
             }
             return sum;
           }));
  }
}

TEST_CASE("large products are exact where numbers are, whichever way the operands lie") {
  Worlds w(8);
  for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::i64})
    for (unsigned swaps = 0; swaps < 4; ++swaps) {
      const std::int64_t m = 150, k = 70, n = 210;
      auto operand = [&](std::int64_t rows, std::int64_t columns, bool swapped) {
        Both b = w.fresh(swapped ? Index{columns, rows} : Index{rows, columns}, type);
        if (!swapped) return b;
        b.tensor = applied(w.w.rt, OperatorId::transpose, {b.tensor}, with({absent(), absent()}));
        b.model = made({rows, columns}, [inner = b.model](const Index& at) { return inner({at[1], at[0]}); });
        return b;
      };
      const Both a = operand(m, k, (swaps & 1) != 0), b = operand(k, n, (swaps & 2) != 0);
      const Tensor y = applied(w.w.rt, OperatorId::matmul, {a.tensor, b.tensor});
      w.same(y, made({m, n}, [&](const Index& at) {
               double sum = 0;
               for (std::int64_t p = 0; p < k; ++p) sum += a.model({at[0], p}) * b.model({p, at[1]});
               return type == DType::bf16 ? static_cast<double>(widened(rounded(static_cast<float>(sum)))) : sum;
             }));
    }
}

TEST_CASE("tensors are joined and padded") {
  Worlds w(7);
  for (int round = 0; round < kRounds; ++round) {
    Index shape = w.random.shape(4, 4);
    shape.push_back(w.random.below(4));
    const auto axis = static_cast<std::size_t>(w.random.below(static_cast<std::int64_t>(shape.size())));
    Index other = shape;
    other[axis] = w.random.below(4);
    const Both a = w.of_shape(shape, w.type()), b = w.of_shape(other, w.type());
    Index joined = shape;
    joined[axis] += other[axis];
    w.same(applied(w.w.rt, OperatorId::concat, {a.tensor, b.tensor}, with({integer(static_cast<std::int64_t>(axis))})),
           made(joined, [&](Index at) {
             if (at[axis] < shape[axis]) return a.model(at);
             at[axis] -= shape[axis];
             return b.model(at);
           }));
    Index before, behind, padded;
    for (const std::int64_t size : shape) {
      before.push_back(std::max(-size, w.random.below(5) - 2));
      behind.push_back(std::max(-size - std::min<std::int64_t>(0, before.back()), w.random.below(5) - 2));
      padded.push_back(size + before.back() + behind.back());
    }
    w.same(applied(w.w.rt, OperatorId::pad, {a.tensor}, with({list(before), list(behind), number(-5)})),
           made(padded, [&](Index at) {
             for (std::size_t i = 0; i < at.size(); ++i) {
               at[i] -= before[i];
               if (at[i] < 0 || at[i] >= shape[i]) return -5.0;
             }
             return a.model(at);
           }));
  }
}
