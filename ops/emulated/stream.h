// A stream of the emulated device: a queue and a thread that works on it in order. The thread starts with the first piece of work
// and ends, when everything has been done, with the stream.
#pragma once

#include "ops/emulated/race_checker.h"
#include "ops/operator.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace cairn::ops {

// A launch or copy with everything it needs, since what was borrowed for it is gone when it begins.
struct Work {
  std::string_view name;
  Piece piece;
  std::vector<Need> needs;
  std::chrono::nanoseconds pause{}; // before it begins

  Kernel kernel = nullptr; // null: a copy
  std::vector<View> inputs, outputs;
  Attributes attributes;

  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[]> staged; // what `from` names, if it is not on the device
  std::chrono::nanoseconds transfer{}; // how long a copy takes at least
};

class Stream;
using Streams = std::array<Stream, kStreams>;

class Stream {
public:
  Stream() = default;
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Of the device's thread. The first of them starts the worker.
  void start(Streams& all, Faults& faults);
  // Waits while very much is queued.
  void push(Work work);
  // Of any thread: until that piece of work has been done.
  void wait_for(Ticket ticket);
  Ticket done() const { return done_.load(std::memory_order_relaxed); }

private:
  static constexpr std::size_t kMostQueued = 4096; // pieces of work
  void run(Streams& all, Faults& faults);
  static void perform(Work& work, Streams& all, Faults& faults);

  std::mutex mutex_;
  std::condition_variable queued_, finished_;
  std::deque<Work> queue_;
  std::atomic<Ticket> done_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

} // namespace cairn::ops
