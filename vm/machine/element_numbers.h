// Elements of a tensor one by one, where a file has them as text.
#pragma once

#include "ops/pieces.h"
#include "vm/machine/file_call.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>

namespace cairn::machine::tensors {

// Calls f(number) for each element, in rows: an integer of 64 bits, which no flonum can be in place of; a float, whose fewer
// digits tell it apart, for f32 and bf16; else a double. So much work is spent for each.
template <class F> void each_number(FileCall& call, const ops::Tensor& t, std::size_t work, F&& f) {
  ops::Runtime& runtime = call.engine.tensors().runtime;
  const bool narrow = t.dtype == ops::DType::f32 || t.dtype == ops::DType::bf16;
  for (ops::Pieces piece(t.shape); piece.there(); piece.next()) {
    const auto elements = static_cast<std::size_t>(piece.elements());
    call.engine.meter().spend(work * elements);
    if (t.dtype == ops::DType::i64) {
      value::ChargedVector<std::int64_t> integers(elements, call.heap);
      runtime.read(piece.of(t), integers.data());
      for (const std::int64_t x : integers) f(x);
    } else {
      for (const double x : runtime.read_numbers(piece.of(t))) narrow ? f(static_cast<float>(x)) : f(x);
    }
  }
}

} // namespace cairn::machine::tensors
