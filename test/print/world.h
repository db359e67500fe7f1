// An environment of its own for tests: output into a string, input and random bits from lists, a tape of primals.
#pragma once

#include "vm/print/primitives.h"
#include "vm/print/printer.h"

#include <string>
#include <vector>

namespace cairn::print::testing {

struct Input {
  bool exact;
  std::int64_t integer;
  double flonum;
};

class World : public print::Environment {
public:
  value::Value primal(value::Value v) const override {
    for (;;) {
      if (v.is_taped())
        v = tape[v.tape_node()];
      else if (value::is_bundle(v))
        v = value::as_bundle(v)->primal;
      else
        return v;
    }
  }
  void write(std::string_view text) override {
    output += text;
    largest_piece = std::max(largest_piece, text.size());
  }
  void report(std::span<const print::Reported> values) override { reports.emplace_back(values.begin(), values.end()); }
  bool read_number(double& flonum, std::int64_t& integer, bool& exact) override {
    if (inputs.empty()) return false;
    exact = inputs.front().exact;
    integer = inputs.front().integer;
    flonum = inputs.front().flonum;
    inputs.erase(inputs.begin());
    return true;
  }
  double seconds() override { return 1.5; }
  std::uint64_t random_bits() override {
    std::uint64_t z = counter += 0x9E3779B97F4A7C15; // splitmix64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return forced.empty() ? z ^ z >> 31 : take_forced();
  }
  const std::vector<std::string>& arguments() const override { return command_line; }
  std::uint64_t capsule_steps(value::Value) const override { return 42; }
  bool capsule_finished(value::Value) const override { return true; }

  std::string output;
  std::size_t largest_piece = 0;
  std::vector<std::vector<print::Reported>> reports;
  std::vector<Input> inputs;
  std::vector<value::Value> tape;
  std::vector<std::string> command_line;
  std::vector<std::uint64_t> forced;

private:
  std::uint64_t take_forced() {
    std::uint64_t bits = forced.front();
    forced.erase(forced.begin());
    return bits;
  }
  std::uint64_t counter = 0;
};

} // namespace cairn::print::testing
