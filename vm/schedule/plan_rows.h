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

// What is known of rows, each in an array of its own. In sizes: the least with a plan, and from where on more is of no use; what
// it costs there. As many numbers have to be there behind the last one as one vector has.
struct Ranges {
  std::vector<std::int32_t> least, enough;
  std::vector<float> cost;
  void resize(std::size_t count) {
    least.resize(count + kRowGroup);
    enough.resize(count + kRowGroup);
    cost.resize(count + kRowGroup);
  }
};
struct RangesFrom { // from somewhere on
  RangesFrom(const Ranges& ranges, std::size_t at)
      : least(&ranges.least[at]), enough(&ranges.enough[at]), cost(&ranges.cost[at]) {}
  const std::int32_t *least, *enough;
  const float* cost;
};

// States held at one boundary after the other, as far as they concern rows; see the tables.
struct Holds {
  std::size_t count = 0;
  const std::uint64_t *running = nullptr, *keep = nullptr; // bytes
  const float* cost = nullptr;
  RangesFrom later, earlier;
  std::int32_t later_row = 0, later_step = 0; // where the first one's row lies, and how far it is to the next
  const std::int32_t* earlier_rows = nullptr; // each of them, but for
  std::int32_t earlier_base = 0;
  std::uint64_t behind = 0; // bytes of cotangents
  unsigned octave = 0;
  std::int32_t from = 0; // smaller sizes are not asked for
};

// Those that a row is the least of: cost + later + earlier, from size `start` on. Rows are told by where they lie in one array.
class RowOptions {
public:
  // So many will be there at most.
  void clear(std::size_t most);
  std::size_t size() const { return count_; }
  // `later` may begin up to `start` in front of a row. From `stop` on it comes to `least`.
  void add(bool of_use, std::int32_t start, std::int32_t stop, float least, std::int32_t later, std::int32_t earlier,
           float cost) {
    start_[count_] = start;
    stop_[count_] = stop;
    least_[count_] = least;
    later_[count_] = later;
    earlier_[count_] = earlier;
    cost_[count_] = cost;
    count_ += static_cast<std::size_t>(of_use);
  }
  void add(const Holds& holds, std::int32_t storage);
  // Lowers a row of that storage to them. It is none of those that they are made of. Then there are none.
  void lower(float* rows, std::size_t row, std::size_t storage);

private:
  friend struct RowLoops;
  std::size_t count_ = 0;
  std::vector<std::int32_t> start_, stop_, later_, earlier_;
  std::vector<float> least_, cost_;
  std::vector<std::uint32_t> of_use_, from_start_;
};

} // namespace cairn::schedule
