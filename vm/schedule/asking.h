// Planning takes up to tenths of a second, all of it within one step of a machine. So the loops of planners ask whether they
// should go on; who may want to end them says what that does. What it throws leaves a plan unmade.
#pragma once

#include <functional>
#include <utility>

namespace cairn::schedule {

class Asking {
public:
  using Ask = std::function<void()>;

  // In this thread, for as long as it is there.
  explicit Asking(Ask ask) : ask_(std::move(ask)), before_(std::exchange(current(), this)) {}
  ~Asking() { current() = before_; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  // To be called at least every millisecond or so.
  static void now() {
    if (const Asking* const asking = current()) asking->ask_();
  }

private:
  static Asking*& current() {
    thread_local Asking* asking = nullptr;
    return asking;
  }
  Ask ask_;
  Asking* before_;
};

} // namespace cairn::schedule
