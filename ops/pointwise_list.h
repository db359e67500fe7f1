// Which operators are functions of the elements at one position: identifier of the operator and struct in pointwise.h. Kernels of
// every device, reverse and forward rules are made from these lists, and so are the identifiers of the kernels of reverse rules
// (operator_ids.h).
//
// Functions that numbers have too say more: the name that the compiler knows them by, what their instruction gives of the
// operands b and c, and what the operator gives. Instruction, builtin, operator and derivatives of numbers are made from such a
// row.
#pragma once

// Two operands, numbers or tensors. The first have instructions with constant operands beside (opcodes.def).
#define CAIRN_NUMBER_SIGNS(X)                                                                                                    \
  X(add, Add, "+", "b + c", "sum")                                                                                               \
  X(sub, Sub, "-", "b - c", "difference")                                                                                        \
  X(mul, Mul, "*", "b * c", "product")                                                                                           \
  X(div, Div, "/", "b / c", "quotient; of integers too a floating one")
#define CAIRN_NUMBER_BINARY(X)                                                                                                   \
  X(max, Max, "max", "the larger of b and c", "the larger; a NaN wins; at ties the derivative goes to the first")                \
  X(min, Min, "min", "the smaller of b and c", "the smaller; a NaN wins; at ties the derivative goes to the first")              \
  X(expt, Expt, "expt", "b to the power c", "power; of integers too a floating one")                                             \
  X(atan2, Atan2, "%atan2", "the angle of the point (c, b)", "angle of the point (second, first)")

// One operand, a number or tensor. Those of the first list are %-names among the operators, those of the second go by one name.
#define CAIRN_NUMBER_ELEMENTARY(X)                                                                                               \
  X(neg, Neg, "%neg", "- b", "negation")                                                                                         \
  X(abs, Abs, "abs", "|b|", "absolute value; derivative 0 at 0")                                                                 \
  X(sqrt, Sqrt, "sqrt", "square root of b; exact for exact squares", "square root")                                              \
  X(exp, Exp, "exp", "e^b", "exponential")                                                                                       \
  X(log, Log, "log", "natural logarithm of b", "natural logarithm")                                                              \
  X(sin, Sin, "sin", "sin b", "sine")                                                                                            \
  X(cos, Cos, "cos", "cos b", "cosine")                                                                                          \
  X(tan, Tan, "tan", "tan b", "tangent")                                                                                         \
  X(asin, Asin, "asin", "asin b", "arc sine")                                                                                    \
  X(acos, Acos, "acos", "acos b", "arc cosine")                                                                                  \
  X(atan, Atan, "atan", "atan b", "arc tangent")
#define CAIRN_NUMBER_CURVES(X)                                                                                                   \
  X(tanh, Tanh, "tanh", "tanh b", "hyperbolic tangent")                                                                          \
  X(sigmoid, Sigmoid, "sigmoid", "1 / (1 + e^-b)", "1 / (1 + exp(-x))")                                                          \
  X(relu, Relu, "ReLU", "b where it is positive, else 0", "x where it is positive, else 0; derivative 0 at 0")                   \
  X(gelu, Gelu, "GeLU", "GeLU of b", "x times the normal distribution function at x, by erf")                                    \
  X(gelu_tanh, GeluTanh, "GeLU-tanh", "GeLU of b, by tanh", "GeLU with the normal distribution function taken from tanh")        \
  X(silu, Silu, "SiLU", "b sigmoid(b)", "x sigmoid(x)")                                                                          \
  X(softplus, Softplus, "softplus", "log(1 + e^b)", "log(1 + exp(x))")                                                           \
  X(square, Square, "square", "b b", "x x")                                                                                      \
  X(sign, Sign, "sign", "1, -1 or 0 as b is positive, negative or 0",                                                            \
    "1, -1 or 0 as x is positive, negative or 0; derivative 0")                                                                  \
  X(erf, Erf, "erf", "error function of b", "error function")                                                                    \
  X(sinh, Sinh, "sinh", "sinh b", "hyperbolic sine")                                                                             \
  X(cosh, Cosh, "cosh", "cosh b", "hyperbolic cosine")                                                                           \
  X(asinh, Asinh, "asinh", "asinh b", "inverse of the hyperbolic sine")                                                          \
  X(acosh, Acosh, "acosh", "acosh b", "inverse of the hyperbolic cosine")                                                        \
  X(atanh, Atanh, "atanh", "atanh b", "inverse of the hyperbolic tangent")                                                       \
  X(log1p, Log1p, "log1p", "log(1 + b), exact for small b too", "log(1 + x), exact for small x too")                             \
  X(expm1, Expm1, "expm1", "e^b - 1, exact for small b too", "exp(x) - 1, exact for small x too")
#define CAIRN_NUMBER_UNARY(X) CAIRN_NUMBER_ELEMENTARY(X) CAIRN_NUMBER_CURVES(X)

// One operand.
#define CAIRN_POINTWISE_UNARY(X)                                                                                                 \
  CAIRN_NUMBER_UNARY(X)                                                                                                          \
  X(floor, Floor)                                                                                                                \
  X(ceiling, Ceiling)                                                                                                            \
  X(truncate, Truncate)                                                                                                          \
  X(round, Round)

// One operand and a parameter, the operator's number attribute (absent: Struct::kParameter).
#define CAIRN_POINTWISE_PARAMETER(X)                                                                                             \
  X(leaky_relu, LeakyRelu)                                                                                                       \
  X(elu, Elu)

// Two operands.
#define CAIRN_POINTWISE_BINARY(X) CAIRN_NUMBER_SIGNS(X) CAIRN_NUMBER_BINARY(X)

// Two operands, result 0 or 1 of type u8; the name that messages know them by. Computed in the type promoted from the operands.
// No derivatives.
#define CAIRN_POINTWISE_COMPARE(X)                                                                                               \
  X(less, Less, "<")                                                                                                             \
  X(less_equal, LessEqual, "<=")                                                                                                 \
  X(equal, Equal, "=")                                                                                                           \
  X(not_equal, NotEqual, "not-equal")

// `where` is the only one of three operands; it is written out wherever these lists are used.
