// The derivative rules of the numeric instructions, for doubles (tape) and for Values (bundles, whose tangents may themselves be
// taped or bundles), from the formulas of ops/pointwise.h. Conventions at kinks: d|x| at 0 is 0; max and min take the operand
// chosen, the first at ties; d sqrt at 0 is IEEE's 1/0; d x^y by y at x = 0 is 0.
#pragma once

#include "vm/machine/engine.h"
#include "vm/value/owned.h"

namespace cairn::machine::rules {

using value::Owned;

double value2(Opcode op, double x, double y);
double value1(Opcode op, double x);
bool closed1(Opcode op);                           // integers give integers
bool chooses_first(Opcode op, double x, double y); // max, min

// v is the value; sets the partials by x and by y.
void partials2(Opcode op, double x, double y, double v, double& dx, double& dy);
double partial1(Opcode op, double x, double v);

// Tangent of a result from the tangents of the operands; null: that operand has none. All borrowed, result owned.
Value tangent2(Engine& engine, Opcode op, Value x, Value y, Value v, const Value* x_tangent, const Value* y_tangent);
Value tangent1(Engine& engine, Opcode op, Value x, Value v, Value x_tangent);

} // namespace cairn::machine::rules
