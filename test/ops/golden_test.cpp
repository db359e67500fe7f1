// Values of operators against NumPy's (test/data/tensors*.json, written by the scripts in tools/golden), in every floating type.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace cairn::ops;
using namespace cairn::ops::test;
using nlohmann::json;

namespace {

const Operator& operator_named(const std::string& name) {
  for (const Operator& op : all_operators())
    if (op.name == name) return op;
  FAIL("no operator ", name);
  return operator_of(OperatorId::add);
}

Attributes attributes_of(const json& given) {
  Attributes out;
  for (const json& value : given) {
    if (value.is_null())
      out.values.push_back(absent());
    else if (value.is_array())
      out.values.push_back(list(value.get<std::vector<std::int64_t>>()));
    else if (value.is_object())
      out.values.push_back(number(value["number"].get<double>()));
    else
      out.values.push_back(integer(value.get<std::int64_t>()));
  }
  return out;
}

} // namespace

namespace {

// Operands and results that do not take part in the choice of types, indices say, bring their own.
DType type_of(const json& tensor, DType otherwise) {
  return tensor.contains("type") ? *dtype_named(tensor["type"].get<std::string>()) : otherwise;
}

void compare_all(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  World w;
  for (const json& c : json::parse(file)) {
    const auto name = c["op"].get<std::string>();
    CAPTURE(name);
    const auto expected = c["output"]["numbers"].get<std::vector<double>>();
    const Shape shape{std::span<const std::int64_t>(c["output"]["shape"].get<std::vector<std::int64_t>>())};
    double largest = 0;
    for (const double d : expected) largest = std::max(largest, std::fabs(d));
    for (const auto& [type, tolerance] :
         {std::pair{DType::f64, 1e-12}, std::pair{DType::f32, 1e-5}, std::pair{DType::bf16, 1e-2}}) {
      const std::string type_name(name_of(type));
      CAPTURE(type_name);
      std::vector<Tensor> inputs;
      for (const json& in : c["inputs"])
        inputs.push_back(w.tensor(Shape{std::span<const std::int64_t>(in["shape"].get<std::vector<std::int64_t>>())},
                                  in["numbers"].get<std::vector<double>>(), type_of(in, type)));
      const Operator& op = operator_named(name);
      const Tensor y = applied(w.rt, op.id, inputs, attributes_of(c["attributes"]));
      CHECK(y.shape == shape);
      const bool compares = op.id == OperatorId::less || op.id == OperatorId::less_equal || op.id == OperatorId::equal ||
                            op.id == OperatorId::not_equal;
      CHECK(y.dtype == type_of(c["output"], compares ? DType::u8 : type));
      const std::vector<double> numbers = w.rt.read_numbers(y);
      REQUIRE(numbers.size() == expected.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        CAPTURE(i);
        CAPTURE(numbers[i]);
        CAPTURE(expected[i]);
        CHECK(std::fabs(numbers[i] - expected[i]) <= tolerance * largest);
      }
    }
  }
}

} // namespace

TEST_CASE("operators give what NumPy gives") {
  compare_all(CAIRN_TEST_DATA "/tensors.json");
  compare_all(CAIRN_TEST_DATA "/tensors_elements.json");
  compare_all(CAIRN_TEST_DATA "/tensors_networks.json");
}
