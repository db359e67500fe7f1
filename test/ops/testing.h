// What the tests of ops share: a device with a ledger that counts, random tensors, and algebras that evaluate forward rules.
#pragma once

#include "ops/cpu/device/device.h"
#include "ops/operator_ids.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cairn::ops::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

struct CountingLedger : Ledger {
  std::int64_t held = 0, most = 0, limit = INT64_MAX;
  void charge(std::int64_t bytes, std::int64_t /*beside*/) override {
    if (bytes > 0 && bytes > limit - held) throw std::length_error("over the limit");
    held += bytes;
    most = std::max(most, held);
  }
};

struct World {
  CountingLedger ledger;
  std::unique_ptr<Device> cpu = make_cpu_device(ledger);
  Runtime rt{*cpu};

  Tensor tensor(const Shape& shape, const std::vector<double>& numbers, DType type = DType::f64) {
    Tensor t = rt.from_host(DType::f64, shape, *cpu, numbers.data());
    return type == DType::f64 ? t : rt.apply(OperatorId::cast, {t}, types(type));
  }
  static Attributes types(DType type);
};

// --- attributes

inline Attribute list(std::vector<std::int64_t> sizes) { return Attribute::of_list(std::move(sizes)); }
inline Attribute integer(std::int64_t i) { return Attribute::of_integer(i); }
inline Attribute number(double d) { return Attribute::of_number(d); }
inline Attribute absent() { return Attribute(); }
inline Attributes with(std::vector<Attribute> values) {
  Attributes a;
  a.values = std::move(values);
  return a;
}
inline Attributes World::types(DType type) { return with({integer(static_cast<std::int64_t>(type))}); }

// --- random numbers, the same in each run

inline double between(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}
inline std::vector<double> numbers_between(std::mt19937_64& random, std::int64_t n, double low, double high) {
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& d : out) d = between(random, low, high);
  return out;
}

// All results; the places behind them stay empty.
inline std::array<Tensor, kMostResults> all_applied(Runtime& rt, OperatorId op, std::vector<Tensor> inputs,
                                                    const Attributes& attributes = {}) {
  std::array<Tensor, kMostResults> out;
  rt.apply(operator_of(op), inputs, {}, attributes, out);
  return out;
}
// The first result.
inline Tensor applied(Runtime& rt, OperatorId op, std::vector<Tensor> inputs, const Attributes& attributes = {}) {
  return all_applied(rt, op, std::move(inputs), attributes)[0];
}

// What an application is refused with; nothing of it stays.
inline std::string error(World& w, OperatorId op, std::vector<Tensor> inputs, std::vector<Attribute> attributes = {}) {
  const std::int64_t held = w.ledger.held;
  try {
    applied(w.rt, op, std::move(inputs), with(std::move(attributes)));
  } catch (const OperatorError& e) {
    CHECK(w.ledger.held == held);
    return e.what();
  }
  return "no error";
}

// --- algebras

// Terms are tensors: values alone.
class Values final : public Algebra {
public:
  explicit Values(Runtime& runtime) : runtime_(runtime) {}
  ~Values() override {
    for (const Entry& e : entries_) CHECK(e.count == 0); // rules give back what they take
  }
  std::uint64_t apply(OperatorId op, std::span<const std::uint64_t> terms, const Attributes& attributes) override;
  std::uint64_t number(double d) override { return add(weak_number(d, false)); }
  void retain(std::uint64_t term) override { ++entries_[term].count; }
  void release(std::uint64_t term) override {
    if (--entries_[term].count == 0) entries_[term].tensor = Tensor();
  }
  Term term(Tensor t) { return {*this, add(std::move(t))}; }
  const Tensor& tensor(const Term& t) const { return entries_[t.handle()].tensor; }

private:
  struct Entry {
    Tensor tensor;
    int count = 0;
  };
  std::uint64_t add(Tensor t);
  Runtime& runtime_;
  std::vector<Entry> entries_;
};

// Terms are values of another algebra with tangents there.
class Duals final : public Algebra {
public:
  explicit Duals(Algebra* inner) : inner_(*inner) {} // no reference: a Duals over a Duals is no copy
  ~Duals() override {
    for (const Entry& e : entries_) CHECK(e.count == 0);
  }
  std::uint64_t apply(OperatorId op, std::span<const std::uint64_t> terms, const Attributes& attributes) override;
  std::uint64_t number(double d) override { return add({inner_, inner_.number(d)}, std::nullopt); }
  void retain(std::uint64_t term) override { ++entries_[term].count; }
  void release(std::uint64_t term) override {
    if (--entries_[term].count == 0) {
      entries_[term].value = 0.0;
      entries_[term].tangent.reset();
    }
  }
  Term term(Term value, std::optional<Term> tangent) { return {*this, add(std::move(value), std::move(tangent))}; }
  const Term& value(const Term& t) const { return entries_[t.handle()].value; }
  const std::optional<Term>& tangent(const Term& t) const { return entries_[t.handle()].tangent; }

private:
  struct Entry {
    Term value = 0.0;
    std::optional<Term> tangent;
    int count = 0;
  };
  std::uint64_t add(Term value, std::optional<Term> tangent);
  Algebra& inner_;
  std::vector<Entry> entries_;
};

} // namespace cairn::ops::test
