// A stream of the emulated device: a queue and a thread that works on it in order. The thread starts with the first operation
// and ends, when everything has been done, with the stream.
#pragma once

#include "ops/emulated/race_checker.h"
#include "ops/modelled/virtual_time.h"
#include "ops/operator.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace cairn::ops {

struct Reader;

// A launch or copy with everything it needs, since what was borrowed for it is gone when it begins.
struct Work {
  std::string_view name;
  Operation operation;
  std::vector<Need> needs;
  std::chrono::nanoseconds pause{}; // before it begins
  Picoseconds modelled = 0;         // what it takes in virtual time
  Picoseconds ready = 0;            // before which it does not begin there

  Kernel kernel = nullptr; // null: a copy
  std::vector<View> inputs, outputs;
  Attributes attributes;

  std::int64_t scratch_limit = 0; // bytes of scratch memory that it may take

  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[]> staged; // what `from` names, if it is not on the device
  std::chrono::nanoseconds transfer{}; // how long a copy takes at least
  std::shared_ptr<Reader> reader;      // who waits for what is copied out
  std::span<std::byte> through;        // the buffer of the stream's that a copy goes through; empty: none

  // As new, but for the memory of its lists.
  void clear() noexcept {
    Work empty;
    const auto keep = [](auto& from, auto& to) {
      from.clear();
      to.swap(from);
    };
    keep(needs, empty.needs);
    keep(inputs, empty.inputs);
    keep(outputs, empty.outputs);
    *this = std::move(empty);
  }
};

// The host reads into memory of its own, which may be gone when it does not wait to the end: then nothing more is written there.
struct Reader {
  std::mutex mutex;
  bool gone = false;
  void leave() {
    const std::lock_guard lock(mutex);
    gone = true;
  }
};

class Stream;
using Streams = std::array<Stream, kStreams>;

class Stream {
public:
  Stream() = default;
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Of the device's thread. The first operation starts the thread. Where scratch memory is limited, kernels of streams that share
  // `kernels` run one after another, since each of them may take all that there is.
  void start(Streams& all, Faults& faults, std::atomic<bool>& kernels);
  // The device goes: nobody looks at results any more, and what is queued is left undone.
  void end() { meter_.cancel(); }
  // Waits while kMostQueued operations are queued. Throws Cancelled if the meter says so.
  void wait_until_not_full(const Meter* meter);
  // One operation to be filled in, of the thread that pushes: one that was done has its memory here already.
  std::list<Work> one();
  // After that wait, of the same thread. `work` has one element, so that nothing can fail here.
  void push(std::list<Work> work) noexcept;
  // May be called from any thread: waits until that operation has been done. Throws Cancelled if there is a meter and it says
  // so.
  void wait_for(Ticket ticket, const Meter* meter = nullptr);
  Ticket done() const { return done_.load(std::memory_order_relaxed); }
  // The most bytes of scratch memory that a kernel of this stream has had at once.
  std::int64_t scratch_peak() const { return scratch_peak_.load(std::memory_order_relaxed); }

private:
  static constexpr std::size_t kMostQueued = 4096; // operations
  static constexpr std::size_t kMostSpare = 64;    // operations that were done, for whose memory there is a use
  template <class Done> void wait(const Meter* meter, Done&& done);
  void note_done(Ticket ticket);
  void run(Streams& all, Faults& faults, std::atomic<bool>& kernels);
  void perform(Work& work, Streams& all, Faults& faults, std::atomic<bool>& kernels);
  void copy(const Work& work) const;

  std::mutex mutex_;
  std::condition_variable queued_, finished_;
  std::list<Work> queue_, given_back_;
  std::list<Work> spare_;                   // those of the thread that pushes: what one thread frees for another takes long
  std::atomic<bool> has_queued_ = false;    // for the thread to look at before it sleeps
  std::atomic<std::size_t> unfinished_ = 0; // operations that are queued, or that the thread has taken
  std::atomic<int> waiting_ = 0;            // threads that `finished_` is for
  std::atomic<Ticket> done_ = 0;
  std::atomic<std::int64_t> scratch_peak_ = 0;
  Meter meter_; // of the kernels of this stream: they are not stopped when the machine is cancelled
  bool ending_ = false;
  std::thread thread_;
};

} // namespace cairn::ops
