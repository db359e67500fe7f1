// Signatures as specs of operands.
#include "ops/operator.h"
#include "ops/operators/registry.h"

#include <doctest/doctest.h>

using namespace cairn::ops;
using Kind = OperandSpec::Kind;

TEST_CASE("a signature has an operand for each letter; small ones may be left out, keys are no operands of programs") {
  constexpr Signature signature("TXIVlbrZ");
  const OperandSpec expected[] = {{Kind::tensor, false},   {Kind::tensor_or_number, false},
                                  {Kind::constant, false}, {Kind::tensors, false},
                                  {Kind::integers, true},  {Kind::flag, true},
                                  {Kind::residence, true}, {Kind::key, false}};
  REQUIRE(signature.size() == 8);
  for (std::size_t i = 0; i < signature.size(); ++i) {
    CHECK(signature[i].kind == expected[i].kind);
    CHECK(signature[i].optional == expected[i].optional);
    CHECK(signature[i].is_one_tensor() == (i < 3));
    CHECK(signature[i].is_attribute() == (i >= 4 && i < 7));
  }
  CHECK(signature.least() == 4);
  CHECK(signature.most() == 7);
}

TEST_CASE("an operand may be a number that counts as a tensor, and a key may be the program's") {
  constexpr Signature signature("AKz");
  CHECK(signature[0].kind == Kind::tensor);
  CHECK(signature[0].or_number);
  CHECK_FALSE(signature[1].or_number);
  CHECK(signature[2].kind == Kind::key);
  CHECK_FALSE(signature[2].is_attribute());
  CHECK(signature.least() == 2);
  CHECK(signature.most() == 3);
}

TEST_CASE("attributes are well formed as the signature says") {
  const Operator narrow{Definition{}, OperatorId{}, "narrow", "", Signature("TKd")};
  const Attribute one = Attribute::of_integer(1), type = Attribute::of_type(DType::f64), beyond = Attribute::of_integer(kDTypes);
  CHECK(well_formed(narrow, {.values = {one}}));
  CHECK(well_formed(narrow, {.values = {one, type}}));
  CHECK(well_formed(narrow, {.values = {one, Attribute()}}));
  CHECK_FALSE(well_formed(narrow, {}));
  CHECK_FALSE(well_formed(narrow, {.values = {Attribute(), type}}));
  CHECK_FALSE(well_formed(narrow, {.values = {Attribute::of_number(1)}}));
  CHECK_FALSE(well_formed(narrow, {.values = {one, beyond}}));
  CHECK_FALSE(well_formed(narrow, {.values = {one, type, one}}));
}
