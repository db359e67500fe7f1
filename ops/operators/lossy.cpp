// See lossy.h.
#include "ops/operators/lossy.h"

#include "ops/cpu/lossy/lossy.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cairn::ops {

namespace {

ResultType bytes_result(std::int64_t bytes) {
  ResultType type;
  type.dtype = DType::u8;
  type.shape.push_back(bytes);
  return type;
}

void infer_encoding(const Call& call, ResultTypes& results) {
  results[0] = bytes_result(cpu::room_for_encoding(call.inputs[0].elements(), call.inputs[0].dtype));
}
void infer_first_bytes(const Call& call, ResultTypes& results) { results[0] = bytes_result(call.attributes[0].integer()); }
void infer_decoding(const Call& call, ResultTypes& results) {
  results[0].dtype = static_cast<DType>(call.attributes[1].integer());
  for (const std::int64_t size : call.attributes[0].list()) results[0].shape.push_back(size);
}

Cost cost_of_encoding(const Call& call, const ResultTypes& /*results*/) {
  return cost_of_lossy(call.inputs[0], call.attributes[2].integer() != 0);
}
Cost cost_of_decoding(const Call& call, const ResultTypes& results) {
  Tensor like;
  like.dtype = results.types[0].dtype;
  like.shape = results.types[0].shape;
  return cost_of_lossy(like, call.attributes[2].integer() != 0);
}

} // namespace

Cost cost_of_lossy(const Tensor& like, bool small) {
  Cost cost;
  (small ? cost.lossy_small : cost.lossy) = static_cast<double>(like.bytes());
  return cost;
}

bool can_be_encoded(const Tensor& t) {
  return is_floating(t.dtype) && !t.weak && t.device()->supports(operator_of(OperatorId::encode_bounded)) &&
         t.device()->supports(operator_of(OperatorId::decode_bounded));
}

// How long an encoding is comes out when it is made, in room for any: so it is made there, and copied.
Tensor encoded(Runtime& runtime, const Tensor& t, double bound, bool relative, bool small) {
  const Tensor room =
      runtime.apply(OperatorId::encode_bounded, {t},
                    rules::attributes({Attribute::of_number(bound), Attribute::of_flag(relative), Attribute::of_flag(small)}));
  Tensor head = room;
  head.shape = Shape{cpu::kBytesOfHead};
  std::array<std::byte, cpu::kBytesOfHead> bytes;
  runtime.read(head, bytes.data());
  Tensor encoding = runtime.apply(OperatorId::first_bytes, {room},
                                  rules::attributes({Attribute::of_integer(cpu::bytes_of_encoding(bytes.data()))}));
  if (const double of_each = cpu::bound_of_encoding(bytes.data()); of_each >= kLeastBound && of_each <= kMostBound)
    encoding.number = of_each;
  return encoding;
}

std::uint64_t room_to_encode(const Tensor& like) {
  return static_cast<std::uint64_t>(cpu::room_for_encoding(like.elements(), like.dtype));
}

Tensor decoded(Runtime& runtime, const Tensor& encoding, const Tensor& like, bool small) {
  Tensor t = runtime.apply(
      OperatorId::decode_bounded, {encoding},
      rules::attributes({Attribute::of_list({like.elements()}), Attribute::of_type(like.dtype), Attribute::of_flag(small)}));
  t.shape = like.shape;
  t.strides = like.strides;
  return t;
}

bool is_mark(double number) {
  return number == kMeasured || number == kNotMeasuredHere || (number >= kLeastBound && number <= kMostBound);
}

Tensor error_variance(const VjpCall& call) {
  Runtime& runtime = call.runtime;
  const Tensor& c = call.cotangents[0];
  if (c.empty()) return {};
  const Tensor squares = runtime.apply(OperatorId::mul, {c, c});
  std::array<Tensor, 3> inputs, results; // that many at most
  const std::size_t n = call.inputs.size();
  std::copy(call.inputs.begin(), call.inputs.end(), inputs.begin());
  inputs[0] =
      runtime.cast(runtime.apply(OperatorId::where, {inputs[0], weak_number(1, false), weak_number(0, false)}), inputs[0].dtype);
  const std::array<bool, 3> wanted = {false, true, false};
  call.op.vjp({runtime,
               call.op,
               {inputs.data(), n},
               call.outputs,
               {&squares, 1},
               call.attributes,
               {wanted.data(), n},
               {results.data(), n}});
  return std::move(results[1]);
}

bool is_encoding_of(std::span<const std::uint8_t> bytes, const Tensor& like) {
  return cpu::is_encoding(bytes, like.elements(), like.dtype);
}

namespace definitions {

constinit const Definition encode_bounded = {
    .infer = infer_encoding, .regions = &regions::somewhere, .kernel = cpu::encode_bounded, .cost = cost_of_encoding};
constinit const Definition first_bytes = {.infer = infer_first_bytes, .regions = &regions::somewhere, .kernel = cpu::first_bytes};
constinit const Definition decode_bounded = {
    .infer = infer_decoding, .regions = &regions::somewhere, .kernel = cpu::decode_bounded, .cost = cost_of_decoding};

} // namespace definitions

} // namespace cairn::ops
