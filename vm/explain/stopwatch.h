// Time that passes while a machine runs, for people: nothing that decides reads it, and no state has it.
#pragma once

namespace cairn::explain {

class Stopwatch {
public:
  using Clock = double (*)(); // seconds since some moment

  static double wall();
  explicit Stopwatch(Clock clock = wall) : clock_(clock) {}

  void go() { since_ = clock_(); }
  void halt() {
    passed_ += clock_() - since_;
    since_ = kHalted;
  }
  double seconds() const { return since_ == kHalted ? passed_ : passed_ + clock_() - since_; }

  // While it is there, somebody's watch goes.
  class Going {
  public:
    explicit Going(Stopwatch* watch) : watch_(watch) {
      if (watch_ != nullptr) watch_->go();
    }
    ~Going() {
      if (watch_ != nullptr) watch_->halt();
    }
    Going(const Going&) = delete;
    Going& operator=(const Going&) = delete;

  private:
    Stopwatch* watch_;
  };

  // While it is there, the watch stands still if it goes.
  class Halted {
  public:
    explicit Halted(Stopwatch& watch) : watch_(watch.since_ != kHalted ? &watch : nullptr) {
      if (watch_ != nullptr) watch_->halt();
    }
    ~Halted() {
      if (watch_ != nullptr) watch_->go();
    }
    Halted(const Halted&) = delete;
    Halted& operator=(const Halted&) = delete;

  private:
    Stopwatch* watch_;
  };

private:
  static constexpr double kHalted = -1;
  Clock clock_;
  double passed_ = 0, since_ = kHalted;
};

} // namespace cairn::explain
