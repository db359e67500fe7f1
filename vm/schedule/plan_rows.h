// Rows of tables, and the loop that planning spends its time in. Private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cairn::schedule {

// A row has costs by size, which do not rise; infinity where there is no plan. Its storage is a whole number of groups of so many
// sizes.
inline constexpr std::size_t kRowGroup = 8;
constexpr std::size_t row_storage(std::size_t width) { return (width + kRowGroup - 1) / kRowGroup * kRowGroup; }
// As many floats have to be there in front of a row, whatever they are.
inline constexpr std::size_t kInFrontOfRow = 5 * kRowGroup;

// One of those that a row is the least of: cost + later + earlier, from size `start` on.
struct RowOption {
  const float* later = nullptr; // may begin up to `start` in front of a row
  const float* earlier = nullptr;
  float cost = 0;
  float least = 0;                   // it comes to no less anywhere
  std::uint32_t start = 0, stop = 0; // behind the latter it does not fall any more
};

class RowLoop {
public:
  // Lowers a row of that storage to these options. It is none of those that they are made of.
  void lower(float* row, std::size_t storage, std::span<const RowOption> options);

private:
  std::vector<const RowOption*> at_hand_;
};

} // namespace cairn::schedule
