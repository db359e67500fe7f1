// See cost_table.h.
#include "vm/schedule/cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace cairn::schedule {
namespace {

constexpr double kMostNanoseconds = 1e6;
constexpr double kMostTicks = 0x1p60;

std::uint64_t ticks_of(double nanoseconds) {
  return static_cast<std::uint64_t>(std::round(std::clamp(nanoseconds * CostTable::kTicks, 0.0, kMostTicks)));
}

bool is_rate(double rate) { return rate >= 0 && rate <= kMostNanoseconds; } // NaN is none

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t from = text.find_first_not_of(kBlanks);
  return from == std::string_view::npos ? std::string_view() : text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

std::string all_rates() {
  std::string names;
  CostTable table;
  CostTable::each(table, [&](std::string_view name, double) { names += fmt::format("{}{}", names.empty() ? "" : ", ", name); });
  return names;
}

bool parse_rate(std::string_view line, CostTable& costs, std::string& error) {
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view name = line.substr(0, end), number = trimmed(line.substr(end));
  bool known = false, right = false;
  CostTable::each(costs, [&](std::string_view other, double& rate) {
    if (other != name) return;
    known = true;
    double value = -1;
    const auto [stop, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
    right = fault == std::errc() && stop == number.data() + number.size() && is_rate(value);
    if (right) rate = value;
  });
  constexpr std::size_t kShown = 40;
  if (!known) error = fmt::format("no rate is called '{}'; there are {}", name.substr(0, kShown), all_rates());
  if (known && !right)
    error = fmt::format("'{}' should be nanoseconds, a number from 0 to {}, not '{}'", name, kMostNanoseconds,
                        number.substr(0, kShown));
  return right;
}

} // namespace

std::uint64_t CostTable::ticks_of_step() const { return static_cast<std::uint64_t>(std::max(1.0, std::round(step * kTicks))); }

std::uint64_t CostTable::ticks_of_record() const { return static_cast<std::uint64_t>(std::round(record * kTicks)); }

std::uint64_t CostTable::ticks_of_taped() const { return static_cast<std::uint64_t>(std::round(taped * kTicks)); }

std::uint64_t CostTable::steps_of_record(std::uint64_t bytes) const {
  const double ticks = (record + static_cast<double>(bytes) * fresh) * kTicks;
  return static_cast<std::uint64_t>(std::max(1.0, std::round(ticks / static_cast<double>(ticks_of_step()))));
}

std::uint64_t CostTable::ticks_of_fresh() const { return static_cast<std::uint64_t>(std::round(fresh * kTicks * 1024)); }
std::uint64_t CostTable::ticks_of_spilling() const {
  constexpr double kBytes = 1 << 20;
  return static_cast<std::uint64_t>(std::max(1.0, std::round(2 * kBytes * spill * kTicks)));
}

double CostTable::part_worth_encoding() const { return spill == 0 ? 0 : std::max(0.0, 1 - encode / (2 * spill)); }

std::uint64_t CostTable::ticks(double operations, double products, double flops, double bytes) const {
  return ticks_of(operations * operation + products * product + flops * flop + bytes * byte);
}

std::uint64_t CostTable::ticks_of_lossy(double fast, double small) const {
  return ticks_of((fast * lossy + small * lossy_small) / 2);
}

bool parse_costs(std::string_view text, CostTable& costs, std::string& error) {
  CostTable read;
  std::set<std::string_view> told;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    if (parse_rate(line, read, error)) {
      if (told.insert(name).second) continue;
      error = fmt::format("'{}' has a rate already; leave one of them", name);
    }
    error = fmt::format("line {}: {}", number, error);
    return false;
  }
  costs = read;
  return true;
}

std::string to_string(const CostTable& costs) {
  std::string text = "# How long parts of a program take, in nanoseconds: for vmrun --costs=FILE.\n";
#define X(name, nanoseconds, what) text += fmt::format("{:<12}{:<12} # {}\n", #name, costs.name, what);
  CAIRN_COSTS(X)
#undef X
  return text;
}

bool CostTable::sound() const {
  bool right = true;
  each(*this, [&](std::string_view, double rate) { right = right && is_rate(rate); });
  return right;
}

} // namespace cairn::schedule
