// Products of matrices, by the rules of NumPy: vectors on the left are rows, on the right columns, and lose that axis again;
// leading axes are broadcast.
#include "ops/cpu/matrices/matmul.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/runtime.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

// The shape as that of a stack of matrices.
Shape as_matrix(const Shape& shape, bool left) {
  if (shape.rank() != 1) return shape;
  return left ? Shape{1, shape[0]} : Shape{shape[0], 1};
}

Shape leading(const Shape& shape) { return Shape(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 2))); }

// Of the result, before axes of vectors are taken away.
Shape shape_of_product(const Shape& a, const Shape& b) {
  const Shape left = as_matrix(a, true), right = as_matrix(b, false);
  auto refuse = [&] { return OperatorError(fmt::format("matmul: shapes {} and {} do not go together", a.text(), b.text())); };
  if (a.rank() == 0 || b.rank() == 0 || left[left.rank() - 1] != right[right.rank() - 2]) throw refuse();
  Shape out;
  try {
    out = broadcast("matmul", leading(left), leading(right));
  } catch (const OperatorError&) {
    throw refuse(); // with the whole shapes
  }
  out.push_back(left[left.rank() - 2]);
  out.push_back(right[right.rank() - 1]);
  return out;
}

void infer_matmul(const Call& call, ResultTypes& results) {
  const Shape &a = call.inputs[0].shape, &b = call.inputs[1].shape;
  const Shape matrix = shape_of_product(a, b);
  Shape out = leading(matrix);
  if (a.rank() > 1) out.push_back(matrix[matrix.rank() - 2]);
  if (b.rank() > 1) out.push_back(matrix[matrix.rank() - 1]);
  results[0].dtype = promoted(call.inputs[0].dtype, call.inputs[1].dtype);
  results[0].shape = out;
}

// A view with an axis of size 1 put in at a position.
View with_axis(const View& v, int at) {
  View out = v;
  out.shape.push_back(1);
  for (int i = v.shape.rank(); i > at; --i) {
    out.shape[i] = v.shape[i - 1];
    out.strides[static_cast<std::size_t>(i)] = v.strides[static_cast<std::size_t>(i - 1)];
  }
  out.shape[at] = 1;
  out.strides[static_cast<std::size_t>(at)] = 0;
  return out;
}

void matmul_kernel(const KernelCall& call) {
  const View &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
  const bool row = a.shape.rank() == 1, column = b.shape.rank() == 1;
  if (!row && !column) return cpu::matmul(c, a, b);
  View whole = column ? with_axis(c, c.shape.rank()) : c;
  if (row) whole = with_axis(whole, whole.shape.rank() - 1);
  cpu::matmul(whole, row ? with_axis(a, 0) : a, column ? with_axis(b, 1) : b);
}

Tensor in_shape(Runtime& runtime, const Tensor& t, const Shape& shape) {
  if (t.shape == shape) return t;
  return runtime.apply(OperatorId::view, {t}, rules::attributes({Attribute::of_list(shape.sizes())}));
}

Tensor product(Runtime& runtime, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  const Tensor left = transpose_a ? runtime.apply(OperatorId::transpose, {a}) : a;
  const Tensor right = transpose_b ? runtime.apply(OperatorId::transpose, {b}) : b;
  return runtime.apply(OperatorId::matmul, {left, right});
}

// The columns of a matrix lie behind each other, as those of a transposed view do.
bool by_columns(const Tensor& t) {
  return t.rank() == 2 && t.shape[0] > 1 && t.shape[1] > 1 && t.strides[0] == 1 && t.strides[1] >= t.shape[0];
}

// A product in the layout of this operand, whose cotangent it is: what is summed with it and what updates it has that layout too,
// and strides across memory are slow.
Tensor product_like(Runtime& runtime, const Tensor& like, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  if (!by_columns(like)) return product(runtime, a, b, transpose_a, transpose_b);
  return runtime.apply(OperatorId::transpose, {product(runtime, b, a, !transpose_b, !transpose_a)});
}

// The part of an operand that was a stack of matrices, or a vector seen as one.
Tensor part(Runtime& runtime, Tensor whole, const Tensor& input, bool left) {
  Tensor matrix = description(input);
  matrix.shape = as_matrix(input.shape, left);
  return in_shape(runtime, rules::fit(runtime, std::move(whole), matrix), input.shape);
}

void matmul_vjp(const VjpCall& call) {
  const Tensor &a = call.inputs[0], &b = call.inputs[1];
  if (call.cotangents[0].empty()) return;
  Runtime& runtime = call.runtime;
  const Tensor c = in_shape(runtime, call.cotangents[0], shape_of_product(a.shape, b.shape));
  if (rules::wanted(call, 0)) {
    const Tensor right = in_shape(runtime, b, as_matrix(b.shape, false));
    call.results[0] = part(runtime, product_like(runtime, a, c, right, false, true), a, true);
  }
  if (rules::wanted(call, 1)) {
    if (b.rank() <= 2 && a.rank() > 2) { // one product over all rows, rather than a stack of products that is summed
      std::int64_t count = 1;
      for (int i = 0; i + 1 < a.rank(); ++i) count *= a.shape[i];
      const Tensor left = in_shape(runtime, a, Shape{count, a.shape[a.rank() - 1]});
      const Tensor right = in_shape(runtime, c, Shape{count, c.shape[c.rank() - 1]});
      call.results[1] = part(runtime, product_like(runtime, b, left, right, true, false), b, false);
    } else {
      const Tensor left = in_shape(runtime, a, as_matrix(a.shape, true));
      call.results[1] = part(runtime, product_like(runtime, b, left, c, true, false), b, false);
    }
  }
}

// Rows of the left, columns of the right, of the matrices of the stack.
void narrow_matmul(const RegionCall& call) {
  const Shape &a = call.call.inputs[0].shape, &b = call.call.inputs[1].shape;
  const int rows = a.rank() > 1 ? 1 : 0, columns = b.rank() > 1 ? 1 : 0, leading = call.box.rank() - rows - columns;
  if (rows != 0) {
    call.needed[0].stretched(a.rank() - 2, call.box, leading);
    call.needed[0].within(a.rank() - 2, call.box[leading]);
  }
  if (columns != 0) {
    call.needed[1].stretched(b.rank() - 2, call.box, leading);
    call.needed[1].within(b.rank() - 1, call.box[leading + rows]);
  }
}
constexpr RegionRule kRegionsOfProduct = {"whole rows of the left, whole columns of the right", narrow_matmul};

Cost cost_of_matmul(const Call& call, const ResultTypes& results) {
  const Shape& a = call.inputs[0].shape;
  const auto elements = static_cast<double>(results.types[0].shape.elements());
  double bytes = elements * static_cast<double>(bytes_of(results.types[0].dtype));
  for (const Tensor& t : call.inputs) bytes += static_cast<double>(t.shape.elements()) * static_cast<double>(bytes_of(t.dtype));
  const auto depth = static_cast<double>(a[a.rank() - 1]);
  return Cost{0, bytes, 2 * depth * elements};
}

constexpr Definition matmul_definition() {
  Definition d;
  d.infer = infer_matmul;
  d.regions = &kRegionsOfProduct;
  d.kernel = matmul_kernel;
  d.vjp = matmul_vjp;
  d.keep = keep_input(0) | keep_input(1);
  d.lossy = LossyKind::product;
  d.cost = cost_of_matmul;
  return d;
}

} // namespace

namespace definitions {

constinit const Definition matmul = matmul_definition();

} // namespace definitions

} // namespace cairn::ops
