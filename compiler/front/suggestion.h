// "Did you mean": the known name nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>

namespace cairn::compiler {

// Offer every known name in turn; `best` is then the nearest that is near enough to be worth showing, or empty.
// Ties go to the name offered first in the alphabet, so the order of the offers does not matter.
class Suggestion {
public:
  explicit Suggestion(std::string_view wanted);
  void offer(std::string_view candidate);
  const std::string& best() const { return best_; }

private:
  std::string wanted_;
  std::string best_;
  unsigned distance_; // of best_; at first one more than is near enough
};

} // namespace cairn::compiler
