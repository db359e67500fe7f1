// Threads that share the work of one kernel. Kernels divide their work into pieces whose size never depends on how many threads
// there are, so results do not either. Without workers (small kernels, threads of other devices) everything runs in the calling
// thread.
#pragma once

#include "ops/denormals.h"
#include "ops/meter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace cairn::ops::cpu {

class Workers {
public:
  using Piece = void (*)(void* data, std::int64_t begin, std::int64_t end);

  // Threads are started at the first use. 0: as many as there are processors for this process.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls `piece` for all of [0, count) in pieces of `grain`, on all threads and the caller's, which share its meter: between
  // pieces they ask it. What a piece throws, that there is no memory or that it was cancelled, is thrown again when all have
  // ended; pieces that had not begun are left out.
  void run(std::int64_t count, std::int64_t grain, Piece piece, void* data);
  unsigned threads() const { return threads_; }

  // Those of the thread that asks; null where kernels run alone.
  static Workers*& current();
  class Installed {
  public:
    explicit Installed(Workers* workers) : before_(std::exchange(current(), workers)) {}
    ~Installed() { current() = before_; }
    Installed(const Installed&) = delete;
    Installed& operator=(const Installed&) = delete;

  private:
    Workers* before_;
  };

private:
  struct Task {
    Piece piece = nullptr;
    void* data = nullptr;
    std::int64_t count = 0, grain = 1;
    Meter* meter = nullptr;
  };
  void start();
  void work();
  void take_pieces(const Task& task);

  unsigned threads_;
  std::vector<std::thread> started_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Task task_;
  // Written under the mutex; threads look at them without it while they hope for work, and decide with it.
  std::atomic<std::uint64_t> round_{0};
  std::atomic<unsigned> busy_{0};
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_; // the first of the task
  std::atomic<std::int64_t> next_{0};
};

// piece(begin, end) over [0, count), in pieces of `grain`, between which it is asked whether all this was cancelled.
template <class F> void parallel_for(std::int64_t count, std::int64_t grain, F&& piece) {
  if (count <= grain) {
    if (count > 0) piece(std::int64_t{0}, count);
    return;
  }
  Workers* workers = Workers::current();
  if (workers == nullptr || workers->threads() == 1) {
    const Meter* const meter = Meter::current();
    for (std::int64_t begin = 0; begin < count; begin += grain) {
      if (meter != nullptr) meter->poll();
      piece(begin, std::min(begin + grain, count));
    }
    return;
  }
  workers->run(
      count, grain,
      [](void* data, std::int64_t begin, std::int64_t end) { (*static_cast<std::remove_reference_t<F>*>(data))(begin, end); },
      &piece);
}

// The same for pieces that take microseconds. A few of those are done before another thread is there, and a thread that was
// called looks for more work for some time: so the first piece tells what the others will take, and decides whether they are
// shared.
template <class F> void parallel_for_light(std::int64_t count, std::int64_t grain, F&& piece) {
  constexpr std::int64_t kFew = 16; // beyond them they are worth sharing in any case
  constexpr std::chrono::microseconds kWorthSharing{50};
  const Workers* const workers = Workers::current();
  if (count <= grain || count > kFew * grain || workers == nullptr || workers->threads() == 1)
    return parallel_for(count, grain, piece);
  const auto start = std::chrono::steady_clock::now();
  piece(std::int64_t{0}, grain);
  if ((std::chrono::steady_clock::now() - start) * ((count - 1) / grain) >= kWorthSharing)
    return parallel_for(count - grain, grain, [&](std::int64_t begin, std::int64_t end) { piece(begin + grain, end + grain); });
  for (std::int64_t begin = grain; begin < count; begin += grain) {
    Meter::poll_current();
    piece(begin, std::min(begin + grain, count));
  }
}

} // namespace cairn::ops::cpu
