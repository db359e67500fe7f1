// See testing.h.
#include "ops/operators/registry.h"
#include "test/ops/testing.h"

namespace cairn::ops::test {

std::uint64_t Values::add(Tensor t) {
  Entry e;
  e.tensor = std::move(t);
  e.count = 1;
  entries_.push_back(std::move(e));
  return entries_.size() - 1;
}

std::uint64_t Values::apply(OperatorId op, std::span<const std::uint64_t> terms, const Attributes& attributes) {
  CHECK(well_formed(operator_of(op), attributes));
  std::vector<Tensor> inputs;
  bool all_numbers = true;
  for (const std::uint64_t t : terms) {
    inputs.push_back(entries_[t].tensor);
    all_numbers = all_numbers && inputs.back().weak;
  }
  if (all_numbers) // a machine has its own arithmetic for numbers
    for (Tensor& t : inputs) t = runtime_.from_host(DType::f64, {}, runtime_.default_device(), &t.number);
  Tensor out = applied(runtime_, op, std::move(inputs), attributes);
  return add(all_numbers && out.rank() == 0 ? weak_number(runtime_.read_number(out), false) : std::move(out));
}

std::uint64_t Duals::add(Term value, std::optional<Term> tangent) {
  Entry e;
  e.value = std::move(value);
  e.tangent = std::move(tangent);
  e.count = 1;
  entries_.push_back(std::move(e));
  return entries_.size() - 1;
}

std::uint64_t Duals::apply(OperatorId id, std::span<const std::uint64_t> terms, const Attributes& attributes) {
  const Operator& op = operator_of(id);
  std::vector<Term> inputs, tangents;
  std::vector<std::uint64_t> handles;
  std::vector<const Term*> given;
  tangents.reserve(terms.size());
  bool any = false;
  for (const std::uint64_t t : terms) {
    inputs.push_back(entries_[t].value);
    handles.push_back(inputs.back().handle());
    given.push_back(nullptr);
    if (entries_[t].tangent) {
      tangents.push_back(*entries_[t].tangent);
      given.back() = &tangents.back();
      any = true;
    }
  }
  const Term value(inner_, inner_.apply(id, handles, attributes));
  if (!any || op.vjp == nullptr) return add(value, std::nullopt);
  Term tangent = 0.0;
  if (op.jvp != nullptr) {
    op.jvp(JvpCall{inner_, op, inputs, std::span<const Term>(&value, 1), given, attributes, std::span<Term>(&tangent, 1)});
  } else {
    std::optional<Term> sum;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (given[i] == nullptr) continue;
      std::vector<std::uint64_t> replaced = handles;
      replaced[i] = given[i]->handle();
      Term part(inner_, inner_.apply(id, replaced, attributes));
      if (!sum) {
        sum = std::move(part);
      } else {
        const std::uint64_t both[] = {sum->handle(), part.handle()};
        sum = Term(inner_, inner_.apply(OperatorId::add, both, {}));
      }
    }
    tangent = *sum;
  }
  if (tangent.algebra() == nullptr) return add(value, Term(inner_, inner_.number(tangent.literal())));
  return add(value, std::move(tangent));
}

} // namespace cairn::ops::test
