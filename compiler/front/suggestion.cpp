// Distance of names: insertions, deletions, replacements and swaps of neighbours, over bytes.
#include "compiler/front/suggestion.h"

#include <algorithm>
#include <vector>

namespace cairn::compiler {

namespace {

constexpr std::size_t kLongestName = 64; // longer ones are not compared: nobody misspells them by hand

unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

unsigned near_enough(std::size_t length) { return length <= 2 ? 0 : length <= 5 ? 1 : length <= 10 ? 2 : 3; }

} // namespace

Suggestion::Suggestion(std::string_view wanted) : wanted_(wanted), distance_(near_enough(wanted.size()) + 1) {}

void Suggestion::offer(std::string_view candidate) {
  if (wanted_.size() > kLongestName || candidate.size() > kLongestName) return;
  std::size_t gap = candidate.size() > wanted_.size() ? candidate.size() - wanted_.size() : wanted_.size() - candidate.size();
  if (gap > distance_) return;
  unsigned d = distance(wanted_, candidate);
  if (d < distance_ || (d == distance_ && !best_.empty() && candidate < best_)) {
    distance_ = d;
    best_ = candidate;
  }
}

} // namespace cairn::compiler
