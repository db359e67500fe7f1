// What the tests of schedules share: specs from text, expected values from files, small pseudo-random numbers.
#pragma once

#include "vm/schedule/checker.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace cairn::schedule::test {

inline Spec spec_of(const std::string& text) {
  Spec spec;
  std::string error;
  const bool good = parse(text, spec, error);
  REQUIRE_MESSAGE(good, text, ": ", error);
  return spec;
}

// Base cases shorter than a user may ask for, so that published tables in single steps can be compared.
inline Spec spec_with_base(Spec::Kind kind, std::uint64_t base, std::uint64_t snapshots = 0) {
  Spec spec;
  spec.kind = kind;
  spec.base = base;
  spec.snapshots = snapshots;
  return spec;
}

inline Report run(const Spec& spec, const Program& program, const Limits& limits = {}, const Resources& resources = {}) {
  const auto schedule = make(spec, resources);
  Report report = check(*schedule, program, limits);
  REQUIRE_MESSAGE(report.fault.empty(), to_string(spec), " over ", program.total, " steps: ", report.fault);
  // A run that is planned is taped once to learn what its tapes weigh.
  CHECK((spec.kind == Spec::Kind::budget ? report.taped >= program.total : report.taped == program.total));
  return report;
}

inline nlohmann::json data(const std::string& name) {
  std::ifstream file(std::string(CAIRN_TEST_DATA) + "/" + name);
  REQUIRE_MESSAGE(file.good(), "missing test data ", name);
  return nlohmann::json::parse(file);
}

// A multiplicative generator: the tests need variety, not quality, and the same numbers everywhere.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ *= 0xD1342543DE82EF95u;
    return (state_ >> 20) % bound;
  }

private:
  std::uint64_t state_;
};

} // namespace cairn::schedule::test
