// See read_ahead.h.
#include "vm/machine/read_ahead.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>

namespace cairn::machine {

ReadAhead::~ReadAhead() {
  give_up();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReadAhead::begin(std::unique_ptr<Job> job) {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) { // the system has no more threads: it is read when it is wanted
    return;
  }
  release_abandoned(false);
  if (jobs_.size() == kMost) {
    stop(*jobs_.front());
    jobs_.pop_front();
  }
  jobs_.push_back(std::move(job));
  try {
    const std::lock_guard lock(mutex_);
    queue_.push_back(jobs_.back().get());
  } catch (...) {
    jobs_.pop_back();
    throw;
  }
  more_.notify_one();
  ++expected_;
}

std::unique_ptr<ReadAhead::Job> ReadAhead::taken(Job& job, const ops::Meter& meter) {
  // A meter that counts polls, in tests, must not count how often this looks.
  constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
  const auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& one) { return one.get() == &job; });
  ++wanted_;
  if (job.quick_ && abandon(job)) {
    release_abandoned(true); // it was left long ago: the thread does one at a time
    abandoned_ = std::move(*at);
    jobs_.erase(at);
    return nullptr;
  }
  {
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, kBetweenLooks, [&] { return job.fate_ != Job::Fate::running; })) {
      if (!meter.cancelled()) continue;
      lock.unlock();
      meter.poll();
      lock.lock();
    }
  }
  stop(job);
  std::unique_ptr<Job> found = std::move(*at);
  jobs_.erase(at);
  return found->fate_ == Job::Fate::done ? std::move(found) : nullptr;
}

bool ReadAhead::abandon(Job& job) {
  const std::lock_guard lock(mutex_);
  if (job.fate_ != Job::Fate::running) return false;
  meter_.cancel();
  return true;
}

bool ReadAhead::release_abandoned(bool waits) noexcept {
  if (abandoned_ == nullptr) return false;
  if (waits) {
    stop(*abandoned_);
  } else {
    const std::lock_guard lock(mutex_);
    if (abandoned_->fate_ == Job::Fate::running) return false;
  }
  abandoned_ = nullptr;
  return true;
}

void ReadAhead::stop(Job& job) noexcept {
  std::unique_lock lock(mutex_);
  if (job.fate_ == Job::Fate::queued) {
    queue_.erase(std::find(queue_.begin(), queue_.end(), &job));
    job.fate_ = Job::Fate::failed;
  }
  if (job.fate_ == Job::Fate::running) meter_.cancel();
  done_.wait(lock, [&] { return job.fate_ != Job::Fate::running; });
}

bool ReadAhead::give_up() noexcept {
  const bool released = release_abandoned(true);
  if (jobs_.empty()) return released; // as it is for most that ask, and each operation under a budget may
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) stop(**job); // none is begun only to be stopped
  jobs_.clear();
  return true;
}

void ReadAhead::work() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  const sched_param usual{}; // whoever wakes it keeps the processor; where that cannot be had it is only slower
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &usual);
  const ops::Meter::Installed installed(&meter_);
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (ends_) return;
    Job& job = *queue_.front();
    queue_.pop_front();
    job.fate_ = Job::Fate::running;
    meter_.lend(job.scratch_);
    lock.unlock();
    bool done = false;
    try {
      job.perform();
      done = true;
    } catch (...) { // it will be read when it is wanted, and what is wrong is said then
    }
    lock.lock();
    meter_.take_cancellation();
    job.fate_ = done ? Job::Fate::done : Job::Fate::failed;
    done_.notify_all();
  }
}

} // namespace cairn::machine
