// Softmax on the CPU along one axis of operands of any layout: row by row, or by panels of lines that go across memory.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// Operands: (x), (x), (cotangent, y), (cotangent, y).
enum class Softmax { plain, logarithm, plain_vjp, logarithm_vjp };

void softmax(Softmax what, int axis, const View& out, std::span<const View> in);

// The same where lines lie beside each other in all operands. False: they do not, or there is no memory.
bool softmax_columns(Softmax what, int axis, const View& out, std::span<const View> in);

// Softmax of scale times the first along the last axis, where the second is 0; and its reverse rule: (cotangent, y).
void masked_softmax(const KernelCall& call, double scale);
void masked_softmax_vjp(const KernelCall& call, double scale);

} // namespace cairn::ops::cpu
