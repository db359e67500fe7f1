// Plans as bytes, for files and capsules: a head with version and checksum, then the parts of the plan. What is read is checked
// as if somebody had made it up.
#pragma once

#include "ops/plans/access_plan.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cairn::ops::plans {

std::vector<std::byte> to_bytes(const AccessPlan& plan);
// None, with a reason, for what is no plan.
std::optional<AccessPlan> from_bytes(std::span<const std::byte> bytes, std::string& fault);

// Reads plans, and knows those that it read last by their checksums: programs call along a plan as often as they like, and to
// make it of its bytes takes longer than to look at them. Should two plans have one checksum, the wrong one costs time alone.
class ReadPlans {
public:
  // As from_bytes; null: none.
  std::shared_ptr<const AccessPlan> read(std::span<const std::byte> bytes, std::string& fault);

private:
  static constexpr std::size_t kMost = 8, kMostBytes = std::size_t{16} << 20; // plans, and what they take together
  struct Read {
    std::uint64_t checksum = 0;
    std::size_t bytes = 0;
    std::shared_ptr<const AccessPlan> plan;
  };
  std::vector<Read> latest_; // at the end
  std::size_t kept_ = 0;     // bytes
};

// Makes the checksum right after bytes were changed: for tests and fuzzers. False: they are too few to have one.
bool reseal_plan(std::span<std::byte> bytes);

} // namespace cairn::ops::plans
