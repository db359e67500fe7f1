// Worker threads. Work waits for earlier work only, so waiting cannot go round in a circle.
#include "ops/emulated/stream.h"

#include "ops/cpu/workers.h"

#include <cstring>
#include <exception>

#include <fmt/format.h>

namespace cairn::ops {

Stream::~Stream() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

void Stream::start(Streams& all, Faults& faults) {
  if (!thread_.joinable()) thread_ = std::thread([this, &all, &faults] { run(all, faults); });
}

void Stream::push(Work work) {
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return queue_.size() < kMostQueued; });
    queue_.push_back(std::move(work));
  }
  queued_.notify_one();
}

void Stream::wait_for(Ticket ticket) {
  if (done_.load(std::memory_order_acquire) >= ticket) return;
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this, ticket] { return done_.load(std::memory_order_acquire) >= ticket; });
}

void Stream::run(Streams& all, Faults& faults) {
  const FlushDenormals flush;
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      queued_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    perform(work, all, faults);
    {
      const std::lock_guard lock(mutex_);
      done_.store(work.piece.ticket, std::memory_order_release);
    }
    finished_.notify_all();
  }
}

void Stream::perform(Work& work, Streams& all, Faults& faults) {
  if (work.pause.count() > 0) std::this_thread::sleep_for(work.pause);
  for (std::size_t i = 0; i < kStreams; ++i)
    if (work.piece.waits[i] != 0) all[i].wait_for(work.piece.waits[i]);
  for (const Need& need : work.needs) {
    // Relaxed: to look must not make an order that was not there, or ThreadSanitizer would see less.
    Stream& stream = all[index_of(need.before.stream)];
    const bool done = stream.done() >= need.before.ticket;
    if (done && need.waited) continue;
    faults.note(describe(Worker{work.name, work.piece.stream, work.piece.ticket}, need, done));
    stream.wait_for(need.before.ticket); // the mistake has been told, it need not happen
  }
  if (work.kernel == nullptr) {
    if (work.transfer.count() > 0) std::this_thread::sleep_for(work.transfer);
    std::memcpy(work.to, work.from, work.bytes);
    return;
  }
  try {
    work.kernel(KernelCall{work.inputs, work.outputs, work.attributes});
  } catch (const std::exception& e) { // against the contract of kernels, but it must not get lost
    faults.note(fmt::format("{}: {}", work.name, e.what()));
  }
}

} // namespace cairn::ops
