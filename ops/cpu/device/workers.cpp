// See workers.h.
#include "ops/cpu/device/workers.h"

#include "ops/soon.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <sched.h>

namespace cairn::ops::cpu {

namespace {

unsigned processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

constexpr std::chrono::microseconds kMoment{30};

} // namespace

Workers::Workers(unsigned threads) : threads_(threads != 0 ? threads : processors()) {}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : started_) thread.join();
}

Workers*& Workers::current() {
  thread_local Workers* workers = nullptr;
  return workers;
}

void Workers::start() {
  try {
    while (started_.size() + 1 < threads_) started_.emplace_back([this] { work(); });
  } catch (const std::system_error&) { // then with those there are
    threads_ = static_cast<unsigned>(started_.size()) + 1;
  }
}

void Workers::take_pieces(const Task& task) {
  for (;;) {
    const std::int64_t begin = next_.fetch_add(task.grain, std::memory_order_relaxed);
    if (begin >= task.count) return;
    try {
      task.piece(task.data, begin, std::min(begin + task.grain, task.count));
      if (task.meter != nullptr) task.meter->poll();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
      next_.store(task.count, std::memory_order_relaxed); // nobody needs the rest
    }
  }
}

void Workers::work() {
  const FlushDenormals flush;
  std::uint64_t seen = 0;
  for (;;) {
    soon(kMoment, [&] { return round_.load(std::memory_order_relaxed) != seen || stop_.load(std::memory_order_relaxed); });
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    if (task_.piece == nullptr) continue; // woken after the others had done everything
    const Task task = task_;
    ++busy_;
    lock.unlock();
    {
      const Meter::Installed meter(task.meter);
      take_pieces(task);
    }
    const std::lock_guard ended(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void Workers::run(std::int64_t count, std::int64_t grain, Piece piece, void* data) {
  if (started_.size() + 1 < threads_) start();
  Task task;
  task.piece = piece;
  task.data = data;
  task.count = count;
  task.grain = grain;
  task.meter = Meter::current();
  {
    const std::lock_guard lock(mutex_);
    task_ = task;
    next_.store(0, std::memory_order_relaxed);
    ++round_;
  }
  wake_.notify_all();
  {
    const Installed none(nullptr); // a piece does not divide its work again
    take_pieces(task);
  }
  soon(kMoment, [&] { return busy_.load(std::memory_order_relaxed) == 0; });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  task_.piece = nullptr;
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

} // namespace cairn::ops::cpu
