// What a launch still needs of each memory and what could leave it: what is said where there is no room (residency.h).
#include "ops/streaming/residency.h"
#include "ops/streaming/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace cairn::ops::streaming {

std::int64_t Residency::could_leave() const {
  std::int64_t bytes = 0;
  for (plans::Resident* one = residents_.first(); one != nullptr; one = one->behind)
    if (one->pins == 0) bytes += streamed(*one).bytes;
  return bytes;
}

// Where there is a disk, the host holds an operand that is brought and one block at a time that is written back to make room for
// it: at most the largest that these can be.
Tiers::Above::Needs Residency::needs() const {
  if (brought_.empty() && wanted_ == 0) return {};
  std::int64_t largest = 0, absent = 0, leaves = 0, read = 0;
  for (const Operand& operand : brought_) {
    if (operand.use == plans::Use::write_whole) continue;
    const StreamedBlock& block = *operand.block;
    largest = std::max(largest, block.bytes);
    if (!block.device_is_current) absent = std::max(absent, block.bytes);
    if (!block.device_is_current && block.on_host == nullptr) read = std::max(read, block.bytes);
  }
  if (backing_.device_budget() != 0)
    for (plans::Resident* one = residents_.first(); one != nullptr; one = one->behind)
      if (one->pins == 0) leaves = std::max(leaves, streamed(*one).bytes);
  return {absent + leaves, largest + leaves, read, will_be_written_back()};
}

// By those who would leave for each operand that is still to come, one after the other.
std::int64_t Residency::will_be_written_back() const {
  if (backing_.device_budget() == 0) return 0;
  std::int64_t free = backing_.device_budget() - backing_.device_in_use(), written_back = 0;
  std::vector<std::unique_ptr<Held>> gone;
  const auto comes = [&](std::int64_t bytes) {
    if (bytes > free)
      for (plans::Resident* const one : residents_.choose({.bytes = static_cast<std::uint64_t>(bytes - free)})) {
        StreamedBlock& block = streamed(*one);
        gone.push_back(std::make_unique<Held>(block));
        free += block.bytes;
        if (block.on_disk == nullptr) written_back += block.bytes;
      }
    free -= bytes;
  };
  if (brought_.empty()) comes(wanted_);
  for (const Operand& operand : brought_)
    if (operand.block->on_device == nullptr) comes(operand.block->bytes);
  return written_back;
}

void Residency::refuse(const std::string& what, std::int64_t bytes) {
  throw DeviceMemoryExceeded(
      with_ledger(what, backing_, tiers_.bytes_on_disk(),
                  {.memory = backing_.device_in_use() - could_leave() + bytes, .streams = backing_.streaming().by_default}));
}

// All that the launch uses must be there at once.
void Residency::refuse_on_device(std::int64_t bytes) {
  std::int64_t pinned = 0, streams = 0, used = 0;
  for (plans::Resident* one = residents_.first(); one != nullptr; one = one->behind) {
    streams += streamed(*one).bytes;
    if (one->pins != 0) pinned += streamed(*one).bytes;
  }
  for (const Operand& operand : brought_) used += operand.block->bytes;
  throw DeviceMemoryExceeded(with_ledger(
      fmt::format("streaming: {} has no room for {} bytes: {} of its {} bytes are in use, {} of them by what streams "
                  "and is needed at the same time",
                  wrapped_.name(), bytes, backing_.device_in_use(), backing_.device_budget(), pinned),
      backing_, tiers_.bytes_on_disk(), {.memory = backing_.device_in_use() - streams + std::max(used, pinned + bytes)}));
}

} // namespace cairn::ops::streaming
