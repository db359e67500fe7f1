// Contestants of one process in turns, each of them once a round, so that a slow moment of the computer hits all. What counts is
// the time that the processor spent on the process, which is to have one thread: others may use the computer meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <vector>

namespace bench {

inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

struct Sides {
  double seconds;             // of the first, in the middle
  std::vector<double> ratios; // of each to the first of the same round, in the middle
};

inline Sides side_by_side(int rounds, const std::vector<std::function<void()>>& contestants) {
  std::vector<std::vector<double>> times(contestants.size());
  for (int round = -1; round < rounds; ++round) { // one to warm up
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const double begin = processor_seconds();
      contestants[i]();
      if (round >= 0) times[i].push_back(processor_seconds() - begin);
    }
  }
  Sides sides{median(times[0]), {}};
  for (const std::vector<double>& mine : times) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < mine.size(); ++round) ratios.push_back(mine[round] / times[0][round]);
    sides.ratios.push_back(median(ratios));
  }
  return sides;
}

} // namespace bench
