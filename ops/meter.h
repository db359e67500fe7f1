// What a piece of work may take while it goes on, beside the memory of its results: time, until somebody cancels it; work, as
// much as it was given; and scratch memory, as much as was lent: what the machine's budget has room for, 16 MiB at least. One
// meter a machine. The machine's thread installs it as the current one of the thread where kernels run; workers and streams hand
// it on to theirs. Long loops ask `poll`, operations `spend` their work before they begin, and whatever takes memory whose size a
// program chooses asks `take` first: so a kernel can be stopped, and can be refused, without knowing the machine.
#pragma once

#include "ops/cost.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace cairn::ops {

// Thrown out of work that may not go on. The instruction that asked for it has not happened: it is executed again when the run
// goes on.
struct Stopped {};
// Somebody cancelled it.
struct Cancelled : Stopped {};
// The next operation would take the count of work to `total`, beyond its limit.
struct OutOfWork : Stopped {
  explicit OutOfWork(std::uint64_t t) : total(t) {}
  std::uint64_t total;
};

// Scratch memory went over what the budget has room for. A bad_alloc, so that what handles a refusal of the system handles this
// one too.
struct ScratchExceeded : std::bad_alloc {
  explicit ScratchExceeded(std::int64_t wanted) : bytes(wanted) {}
  std::int64_t bytes; // that would have been in use at once
  const char* what() const noexcept override { return "scratch memory of an operation would go over the budget"; }
};

class Meter {
public:
  static constexpr std::int64_t kUnlimited = INT64_MAX;

  // --- time. `cancel` may be called from any thread and from signal handlers, all else from threads that work for the machine.
  void cancel() noexcept { state_.store(State::cancelled, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return state_.load(std::memory_order_relaxed) == State::cancelled; }
  // Whether it was cancelled; the request is taken back with the answer. (Looked at first: an exchange alone costs as much as a
  // short call.)
  bool take_cancellation() noexcept {
    State expected = State::cancelled;
    return cancelled() && state_.compare_exchange_strong(expected, State::none);
  }
  // Throws Cancelled. To be called at least every millisecond or so of work, not more often than every few microseconds.
  void poll() const {
    if (state_.load(std::memory_order_relaxed) != State::none && !held()) [[unlikely]]
      stop();
  }
  // For work that cannot be left by an exception but can be put off, such as releasing objects: should it be put off now?
  bool wants_stop() const noexcept { return state_.load(std::memory_order_relaxed) != State::none && is_due(); }
  // For tests: the n-th poll from now on, counted from 1, finds it cancelled.
  void cancel_at(std::int64_t poll) noexcept {
    polls_left_.store(poll, std::memory_order_relaxed);
    state_.store(State::counting, std::memory_order_relaxed);
  }

  // The scope of one instruction. It may be stopped, and done again from its beginning, until something in it calls `hold`
  // because what it needs is about to be overwritten; the rest of it cannot be stopped then. Made and ended by the machine's
  // thread.
  class Attempt {
  public:
    explicit Attempt(Meter& meter) : meter_(meter), held_before_(meter.held_.load(std::memory_order_relaxed)) {}
    ~Attempt() { meter_.held_.store(held_before_, std::memory_order_relaxed); }
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

  private:
    Meter& meter_;
    int held_before_;
  };
  // Work inside cannot be stopped: it changes in place what would be needed to do it again. It takes at most as long as going
  // through memory that is allocated already.
  class Uninterrupted {
  public:
    explicit Uninterrupted(Meter& meter) : attempt_(meter) { meter.hold(); }

  private:
    Attempt attempt_;
  };
  void hold() noexcept { held_.fetch_add(1, std::memory_order_relaxed); }
  bool held() const noexcept { return held_.load(std::memory_order_relaxed) != 0; }

  // --- work: modelled flops and bytes, 1 each. A count like that of steps, the same on every device and for any number of
  // threads; kept by the machine's thread alone.
  std::uint64_t work() const noexcept { return work_; }
  void set_work(std::uint64_t work) noexcept { work_ = work; }
  void limit_work(std::uint64_t total) noexcept { most_work_ = total; }
  bool limits_work() const noexcept { return most_work_ != UINT64_MAX; }
  // Before an operation. Throws OutOfWork; and Cancelled, since who has so much to do should ask.
  void spend(std::uint64_t work) {
    count(work);
    spent_.bytes += static_cast<double>(work);
  }
  // Of an operation that takes so much of each.
  void spend(std::uint64_t work, const Cost& cost) {
    count(work);
    ++operations_;
    spent_.add(cost);
  }
  // Since the meter was made, for whoever models time: what was spent of each, other work as bytes, and by how many operations.
  const Cost& spent() const noexcept { return spent_; }
  std::uint64_t operations() const noexcept { return operations_; }
  // The same without counting: before several operations that must all happen or none.
  void foresee(std::uint64_t work) const {
    if (sum(work) > most_work_ && work != 0 && !held()) [[unlikely]]
      throw OutOfWork(sum(work));
    poll();
  }

  // --- scratch memory, in bytes. The machine lends what its budget has room for before work starts; `lend` also starts a new
  // peak.
  void lend(std::int64_t bytes) noexcept {
    limit_.store(bytes, std::memory_order_relaxed);
    peak_.store(taken_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  // ScratchExceeded.
  void take(std::int64_t bytes) {
    const std::int64_t now = taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit_.load(std::memory_order_relaxed)) [[unlikely]] {
      give_back(bytes);
      throw ScratchExceeded(now);
    }
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void give_back(std::int64_t bytes) noexcept { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::int64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  std::int64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  // --- the meter of the machine that this thread works for; null: nobody limits or cancels it.
  static Meter*& current() noexcept {
    thread_local Meter* meter = nullptr;
    return meter;
  }
  class Installed {
  public:
    explicit Installed(Meter* meter) noexcept : before_(std::exchange(current(), meter)) {}
    ~Installed() { current() = before_; }
    Installed(const Installed&) = delete;
    Installed& operator=(const Installed&) = delete;

  private:
    Meter* before_;
  };
  static void poll_current() {
    if (const Meter* meter = current()) meter->poll();
  }
  static void spend_current(std::uint64_t work) {
    if (Meter* meter = current()) meter->spend(work);
  }

private:
  enum class State : std::uint8_t { none, cancelled, counting };
  void count(std::uint64_t work) {
    foresee(work);
    work_ = sum(work);
  }
  std::uint64_t sum(std::uint64_t work) const { return work > UINT64_MAX - work_ ? UINT64_MAX : work_ + work; }
  bool is_due() const noexcept {
    if (state_.load(std::memory_order_relaxed) == State::counting) {
      if (polls_left_.fetch_sub(1, std::memory_order_relaxed) > 1) return false;
      state_.store(State::cancelled, std::memory_order_relaxed);
    }
    return true;
  }
  void stop() const {
    if (is_due()) throw Cancelled{};
  }

  mutable std::atomic<State> state_{State::none};
  mutable std::atomic<std::int64_t> polls_left_{0};
  std::atomic<int> held_{0};
  std::uint64_t work_ = 0, most_work_ = UINT64_MAX;
  Cost spent_;
  std::uint64_t operations_ = 0;
  std::atomic<std::int64_t> limit_{kUnlimited}, taken_{0}, peak_{0};
};

} // namespace cairn::ops
