// What walks over tapes read of kept tensors without making them.
#include "ops/operators/lossy.h"
#include "ops/operators/runtime.h"
#include "vm/machine/engine.h"
#include "vm/runs/marks.h"
#include "vm/runs/operators.h"
#include "vm/tape/kept_tensors.h"

#include <doctest/doctest.h>

#include <vector>

using namespace cairn;
using ops::DType;
using ops::Tensor;
using tape::KeptTensors;

namespace {

struct World {
  machine::Engine e{{}, runs::kOperators};
  Tensor made(const ops::Shape& shape) {
    const std::vector<double> numbers(static_cast<std::size_t>(shape.elements()), 1);
    return e.tensors().runtime.from_host(DType::f64, shape, e.tensors().cpu(), numbers.data());
  }
};

} // namespace

TEST_CASE("kept tensors are read one by one as they were kept") {
  World world;
  const Tensor a = world.made({2, 3}), b = world.made({4});
  Tensor part = b;
  part.offset = 1;
  part.shape = ops::Shape({2});
  const std::vector<Tensor> tensors = {a, ops::description(b), ops::weak_number(2.5, false), part};
  const KeptTensors kept(tensors);
  KeptTensors::Kept one;
  std::uint32_t at = 0;
  for (const Tensor& t : tensors) {
    REQUIRE(kept.next(at, one));
    CHECK(one.storage == t.storage.get());
    CHECK(one.weak == t.weak);
    if (!t.weak) CHECK(one.bytes == static_cast<std::uint64_t>(t.bytes()));
  }
  CHECK_FALSE(kept.next(at, one));
  CHECK_FALSE(KeptTensors().next(at = 0, one));
}

TEST_CASE("kept tensors are alike by types, shapes, numbers and layout, wherever their elements are") {
  World world;
  const Tensor a = world.made({2, 3}), other = world.made({2, 3}), longer = world.made({2, 4}), rows = world.made({3, 2});
  Tensor across = rows;
  across.shape = a.shape;
  across.strides[0] = 1;
  across.strides[1] = 2;
  const auto like = [](const std::vector<Tensor>& one, const std::vector<Tensor>& two) {
    return KeptTensors(one).like(KeptTensors(two));
  };
  CHECK(like({a, other}, {other, a}));
  CHECK(like({}, {}));
  CHECK_FALSE(like({a}, {a, a}));
  CHECK_FALSE(like({a}, {longer}));
  CHECK_FALSE(like({a}, {rows}));
  CHECK_FALSE(like({a}, {across}));
  CHECK_FALSE(like({a}, {ops::description(a)}));
  CHECK(like({ops::weak_number(2, false)}, {ops::weak_number(2, false)}));
  CHECK_FALSE(like({ops::weak_number(2, false)}, {ops::weak_number(3, false)}));
}

TEST_CASE("what is said of factors is kept with a tensor, and does not count in how it lies") {
  World world;
  const Tensor plain = world.made({2, 3});
  Tensor marked = plain, across = plain;
  marked.number = ops::kMeasured;
  across.shape = ops::Shape({3, 2});
  across.strides[0] = 1;
  across.strides[1] = 3;
  across.number = .5;
  const KeptTensors kept({{marked, plain, across, ops::description(across)}});
  const std::vector<Tensor> back = kept.all();
  CHECK(back[0].number == ops::kMeasured);
  CHECK(back[1].number == 0);
  CHECK(back[2].number == .5);
  CHECK(back[2].strides[1] == 3);
  CHECK(back[3].number == .5);
  KeptTensors::Kept one;
  std::uint32_t second = 0;
  REQUIRE(kept.next(second, one));
  CHECK(kept.lies_like(0, kept, second));
  CHECK(kept.lies_like(second, kept, 0));
  CHECK_FALSE(KeptTensors({{marked}}).like(KeptTensors({{plain}})));
}

TEST_CASE("marks are of one storage each, however many there are") {
  World world;
  runs::Marks marks(world.e.heap());
  std::vector<Tensor> tensors;
  CHECK(marks.empty());
  for (int i = 0; i < 1000; ++i) {
    tensors.push_back(world.made({1}));
    const ops::Storage* const storage = tensors.back().storage.get();
    CHECK(marks.find(storage) == nullptr);
    CHECK(marks.insert(storage));
    CHECK_FALSE(marks.insert(storage));
    marks[storage] |= static_cast<std::uint8_t>(i % 128 << 1);
  }
  for (int i = 0; i < 1000; ++i) CHECK(*marks.find(tensors[static_cast<std::size_t>(i)].storage.get()) == (i % 128 << 1 | 1));
  CHECK_FALSE(marks.empty());
}
