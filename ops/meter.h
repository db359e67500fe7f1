// What a piece of work may take while it goes on, beside the memory of its results: time, until somebody cancels it, and scratch memory, as
// much as the machine's budget has room for. One meter a machine. The machine's thread installs it as the current one of the thread where
// kernels run; workers and streams hand it on to theirs. Long loops ask `poll`, and whatever takes memory whose size a program chooses asks
// `take` first: so a kernel can be stopped, and can be refused, without knowing the machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace cairn::ops {

// Thrown out of work that was cancelled. The instruction that asked for the work has not happened: it is executed again when the run goes on.
struct Cancelled {};

// Scratch memory went over what the budget has room for. A bad_alloc, so that what handles a refusal of the system handles this one too.
struct ScratchExceeded : std::bad_alloc {
  explicit ScratchExceeded(std::int64_t wanted) : bytes(wanted) {}
  std::int64_t bytes; // that would have been in use at once
  const char* what() const noexcept override { return "scratch memory of an operation would go over the budget"; }
};

class Meter {
public:
  static constexpr std::int64_t kUnlimited = INT64_MAX;

  // --- time. `cancel` may be called from any thread and from signal handlers, all else from threads that work for the machine.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  // Whether it was cancelled; the request is taken back with the answer. (Looked at first: an exchange alone costs as much as a short call.)
  bool take_cancellation() noexcept { return cancelled() && cancelled_.exchange(false); }
  // Throws Cancelled. To be called at least every millisecond or so of work, not more often than every few microseconds.
  void poll() const {
    if (cancelled() && held_ == 0) [[unlikely]]
      throw Cancelled{};
  }

  // Work inside cannot be stopped: it changes in place what would be needed to do it again. Its length is bounded by memory that exists.
  // Made and ended by the machine's thread while no other works for it.
  class Uninterrupted {
  public:
    explicit Uninterrupted(Meter& meter) : meter_(meter) { ++meter_.held_; }
    ~Uninterrupted() { --meter_.held_; }
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

  private:
    Meter& meter_;
  };

  // --- scratch memory, in bytes. The machine lends what its budget has room for before work starts; `lend` also starts a new peak.
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

  // --- that of the machine this thread works for; null: nobody limits or cancels it.
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

private:
  std::atomic<bool> cancelled_{false};
  int held_ = 0;
  std::atomic<std::int64_t> limit_{kUnlimited}, taken_{0}, peak_{0};
};

} // namespace cairn::ops
