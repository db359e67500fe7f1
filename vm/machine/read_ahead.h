// What a program has said that it will read, read by a thread meanwhile. Nothing of it is state: whether a read was expected, was
// done in time, failed or was given up changes no step, no work, no result, no error and no saved state, but for the time that
// passes. So everything here may be given up whenever memory is short, and what is restored from a file begins without.
#pragma once

#include "ops/meter.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace cairn::machine {

class ReadAhead {
public:
  // So many reads are expected at once; the oldest make way, for those that never come.
  static constexpr std::size_t kMost = 16;

  // A read that is expected, with all memory that it needs, and its result when it is done. Made, looked at and ended by the
  // machine's thread.
  class Job {
  public:
    // `quick`: to read it again takes no longer than a thread may have to wait for a processor that others want too, so nobody
    // waits for it. `scratch`: what its calls may take of the current meter, which its memory is charged for.
    explicit Job(bool quick, std::int64_t scratch = 0) : quick_(quick), scratch_(scratch) {}
    virtual ~Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

  protected:
    // On the thread. Polls the current meter. What is thrown means that it has failed.
    virtual void perform() = 0;

  private:
    friend class ReadAhead;
    enum class Fate : std::uint8_t { queued, running, done, failed };
    Fate fate_ = Fate::queued;
    bool quick_;
    std::int64_t scratch_;
  };

  ReadAhead() = default;
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  bool empty() const { return jobs_.empty(); }
  // The one of that kind that `f` accepts, or null.
  template <class T, class F> T* find(F&& f) const {
    for (const auto& job : jobs_)
      if (T* const one = dynamic_cast<T*>(job.get()); one != nullptr && f(*one)) return one;
    return nullptr;
  }
  // The first expected read starts the thread.
  void begin(std::unique_ptr<Job> job);
  // Its result, for which this waits if the thread is at work on it and it is not quick; null: it is not there, or has failed.
  // Cancelled, if that meter says so; it is still expected then.
  template <class T> std::unique_ptr<T> take(T& job, const ops::Meter& meter) {
    return std::unique_ptr<T>(static_cast<T*>(taken(job, meter).release()));
  }
  // Gives all up. False: there was nothing.
  bool give_up() noexcept;
  // How many reads were expected so far, and how many of these somebody came for while they still were.
  std::uint64_t expected() const { return expected_; }
  std::uint64_t wanted() const { return wanted_; }

private:
  std::unique_ptr<Job> taken(Job& job, const ops::Meter& meter);
  void stop(Job& job) noexcept; // the thread has nothing to do with it any more
  bool abandon(Job& job);       // it runs and nobody will wait for it
  bool release_abandoned(bool waits) noexcept;
  void work();

  std::uint64_t expected_ = 0, wanted_ = 0;
  std::deque<std::unique_ptr<Job>> jobs_; // the oldest first
  std::unique_ptr<Job> abandoned_;        // until the thread has left it
  ops::Meter meter_;                      // of the thread
  std::mutex mutex_;
  std::condition_variable more_, done_;
  std::deque<Job*> queue_;
  bool ends_ = false;
  std::thread thread_;
};

} // namespace cairn::machine
