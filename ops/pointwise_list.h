// Which operators are functions of the elements at one place: identifier of the operator and struct in pointwise.h. Kernels of
// every device, reverse and forward rules are made from these lists, and so are the identifiers of the kernels of reverse rules
// (operator.h).
#pragma once

// One operand.
#define CAIRN_POINTWISE_UNARY(X)                                                                                                 \
  X(neg, Neg)                                                                                                                    \
  X(abs, Abs)                                                                                                                    \
  X(sqrt, Sqrt)                                                                                                                  \
  X(exp, Exp)                                                                                                                    \
  X(log, Log)                                                                                                                    \
  X(sin, Sin)                                                                                                                    \
  X(cos, Cos)                                                                                                                    \
  X(tan, Tan)                                                                                                                    \
  X(asin, Asin)                                                                                                                  \
  X(acos, Acos)                                                                                                                  \
  X(atan, Atan)                                                                                                                  \
  X(tanh, Tanh)                                                                                                                  \
  X(sigmoid, Sigmoid)                                                                                                            \
  X(relu, Relu)                                                                                                                  \
  X(gelu, Gelu)                                                                                                                  \
  X(silu, Silu)                                                                                                                  \
  X(softplus, Softplus)                                                                                                          \
  X(square, Square)                                                                                                              \
  X(erf, Erf)                                                                                                                    \
  X(sinh, Sinh)                                                                                                                  \
  X(cosh, Cosh)                                                                                                                  \
  X(asinh, Asinh)                                                                                                                \
  X(acosh, Acosh)                                                                                                                \
  X(atanh, Atanh)                                                                                                                \
  X(log1p, Log1p)                                                                                                                \
  X(expm1, Expm1)                                                                                                                \
  X(floor, Floor)                                                                                                                \
  X(ceiling, Ceiling)                                                                                                            \
  X(truncate, Truncate)                                                                                                          \
  X(round, Round)                                                                                                                \
  X(sign, Sign)                                                                                                                  \
  X(gelu_tanh, GeluTanh)

// One operand and a parameter, the operator's number attribute (absent: Struct::kParameter).
#define CAIRN_POINTWISE_PARAMETER(X)                                                                                             \
  X(leaky_relu, LeakyRelu)                                                                                                       \
  X(elu, Elu)

// Two operands.
#define CAIRN_POINTWISE_BINARY(X)                                                                                                \
  X(add, Add)                                                                                                                    \
  X(sub, Sub)                                                                                                                    \
  X(mul, Mul)                                                                                                                    \
  X(div, Div)                                                                                                                    \
  X(max, Max)                                                                                                                    \
  X(min, Min)                                                                                                                    \
  X(expt, Expt)                                                                                                                  \
  X(atan2, Atan2)

// Two operands, result 0 or 1 of type u8; computed in the type promoted from the operands. No derivatives.
#define CAIRN_POINTWISE_COMPARE(X)                                                                                               \
  X(less, Less)                                                                                                                  \
  X(less_equal, LessEqual)                                                                                                       \
  X(equal, Equal)                                                                                                                \
  X(not_equal, NotEqual)

// `where` is the only one of three operands; it is written out wherever these lists are used.
