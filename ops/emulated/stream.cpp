// Threads of streams. Work waits for earlier work only, so waiting cannot go round in a circle.
#include "ops/emulated/stream.h"

#include "ops/denormals.h"
#include "ops/soon.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include <fmt/format.h>

namespace cairn::ops {

namespace {

constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::microseconds kMoment{
    20}; // to look for work before the thread sleeps: launches of small kernels are nearer to one another
constexpr std::size_t kCopied = std::size_t{1} << 20; // bytes at a time

// Relaxed: what the tickets forget to order must not be put in order by this, or ThreadSanitizer would see less.
class Alone {
public:
  explicit Alone(std::atomic<bool>& taken) : taken_(taken) {
    while (taken_.exchange(true, std::memory_order_relaxed)) taken_.wait(true, std::memory_order_relaxed);
  }
  ~Alone() {
    taken_.store(false, std::memory_order_relaxed);
    taken_.notify_one();
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

private:
  std::atomic<bool>& taken_;
};

// One more, as long as this is there.
class Counted {
public:
  explicit Counted(std::atomic<int>& count) : count_(count) { count_.fetch_add(1); }
  ~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

private:
  std::atomic<int>& count_;
};

} // namespace

Stream::~Stream() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

void Stream::start(Streams& all, Faults& faults, std::atomic<bool>& kernels) {
  if (!thread_.joinable()) thread_ = std::thread([this, &all, &faults, &kernels] { run(all, faults, kernels); });
}

// Nobody wakes a thread that was cancelled, so it looks itself. Who waits counts itself first and looks then, the stream's thread
// says what is done first and looks then whether anybody waits, all in one order: so one of them sees the other.
template <class Done> void Stream::wait(const Meter* meter, Done&& done) {
  std::unique_lock lock(mutex_);
  const Counted counted(waiting_);
  if (meter == nullptr) return finished_.wait(lock, done);
  while (!finished_.wait_for(lock, kLook, done)) meter->poll();
}

void Stream::wait_until_not_full(const Meter* meter) {
  const auto has_room = [this] { return unfinished_.load() < kMostQueued; };
  if (!has_room()) wait(meter, has_room);
}

void Stream::push(std::list<Work> work) noexcept {
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    queue_.splice(queue_.end(), work);
    has_queued_.store(true, std::memory_order_relaxed);
  }
  queued_.notify_one();
}

void Stream::wait_for(Ticket ticket, const Meter* meter) {
  if (done_.load(std::memory_order_acquire) >= ticket) return;
  wait(meter, [this, ticket] { return done_.load() >= ticket; });
}

void Stream::note_done(Ticket ticket) {
  unfinished_.fetch_sub(1);
  done_.store(ticket);
  if (waiting_.load() == 0) return;
  { const std::lock_guard lock(mutex_); } // who has looked sleeps by now
  finished_.notify_all();
}

void Stream::run(Streams& all, Faults& faults, std::atomic<bool>& kernels) {
  const FlushDenormals flush;
  const Meter::Installed installed(&meter_);
  for (;;) {
    std::list<Work> taken;
    soon(kMoment, [this] { return has_queued_.load(std::memory_order_relaxed); });
    {
      std::unique_lock lock(mutex_);
      queued_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      taken.swap(queue_);
      has_queued_.store(false, std::memory_order_relaxed);
    }
    for (; !taken.empty(); taken.pop_front()) {
      Work& work = taken.front();
      try {
        perform(work, all, faults, kernels);
      } catch (const std::bad_alloc&) { // also in the middle of telling what else went wrong
        faults.note_refusal();
      }
      note_done(work.operation.ticket);
    }
  }
}

// It takes as long as a transfer does, unless the device goes or the host does not wait for it any more.
void Stream::copy(const Work& work) const {
  const auto end = std::chrono::steady_clock::now() + work.transfer;
  for (auto now = end - work.transfer; now < end && !meter_.cancelled(); now = std::chrono::steady_clock::now())
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(end - now, kLook));
  auto* const to = static_cast<char*>(work.to);
  const auto* const from = static_cast<const char*>(work.from);
  const std::size_t at_once = work.through.empty() ? kCopied : std::min(kCopied, work.through.size());
  for (std::size_t at = 0; at < work.bytes && !meter_.cancelled(); at += at_once) {
    std::unique_lock<std::mutex> reading;
    if (work.reader != nullptr) {
      reading = std::unique_lock(work.reader->mutex);
      if (work.reader->gone) return;
    }
    const std::size_t bytes = std::min(at_once, work.bytes - at);
    const char* source = from + at;
    if (!work.through.empty()) source = static_cast<const char*>(std::memcpy(work.through.data(), source, bytes));
    std::memcpy(to + at, source, bytes);
  }
}

void Stream::perform(Work& work, Streams& all, Faults& faults, std::atomic<bool>& kernels) {
  if (work.pause.count() > 0) std::this_thread::sleep_for(work.pause);
  for (std::size_t i = 0; i < kStreams; ++i)
    if (work.operation.waits[i] != 0) all[i].wait_for(work.operation.waits[i]);
  for (const Need& need : work.needs) {
    // Relaxed: to look must not make an order that was not there, or ThreadSanitizer would see less.
    Stream& stream = all[index_of(need.before.stream)];
    const bool done = stream.done() >= need.before.ticket;
    if (done && need.waited) continue;
    faults.note(describe(NamedOperation{work.name, work.operation.stream, work.operation.ticket}, need, done));
    stream.wait_for(need.before.ticket); // the mistake has been told, it need not happen
  }
  if (work.kernel == nullptr) return copy(work);
  std::optional<Alone> alone;
  if (work.scratch_limit != Meter::kUnlimited) alone.emplace(kernels);
  if (meter_.cancelled()) return;
  try {
    meter_.lend(work.scratch_limit);
    work.kernel(KernelCall{work.inputs, work.outputs, work.attributes});
    scratch_peak_.store(std::max(scratch_peak(), meter_.peak()), std::memory_order_relaxed);
  } catch (const Cancelled&) { // the device goes, and nobody looks at results any more
  } catch (const ScratchExceeded& e) {
    faults.note_memory(fmt::format("{}: {} bytes of scratch memory wanted, but {} were left of the budget when it was queued",
                                   work.name, e.bytes, work.scratch_limit));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) { // against the contract of kernels, but it must not get lost
    faults.note(fmt::format("{}: {}", work.name, e.what()));
  }
}

} // namespace cairn::ops
