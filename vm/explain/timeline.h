// The timeline of a gradient, bounded: a run may have millions of actions, and an explanation is looked at by people.
#pragma once

#include "vm/explain/gradient.h"

#include <cstddef>
#include <map>

namespace cairn::explain {

class Timeline {
public:
  static constexpr std::size_t kMostStretches = 2048;
  static constexpr std::size_t kMostStates = 1024;

  // Where there are more, time is divided into windows, as short as they can be, and in each of them stretches that do the same
  // become one. They then lie one after the other in the window, each as long as its parts together.
  void add(const Stretch& stretch);
  // A state is kept in a slot that is empty, and let go of. Where there are too many, those that lived the shortest are left out,
  // or neighbours that are all still held become one.
  void keep(std::uint32_t slot, const KeptState& state);
  void let_go(std::uint32_t slot, std::uint64_t time);
  // Puts what there is into the gradient; what is held still is held until `time`.
  void write(Gradient& to, std::uint64_t time) const;

private:
  void merge();
  void thin();

  std::vector<Stretch> stretches_;
  std::uint64_t window_ = 0; // 0: none yet
  std::vector<KeptState> states_;
  std::map<std::uint32_t, std::size_t> held_; // by slot, where in `states_`
  std::uint64_t left_out_ = 0;
};

} // namespace cairn::explain
