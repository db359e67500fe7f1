// See watch.h. Neither the thread nor the handler may meet a machine that is being freed: both say that they are looking
// (`lookers`) before they look, and a run that ends waits for them.
#include "watch.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include <pthread.h>

namespace cairn::python {
namespace {

constexpr std::chrono::milliseconds kTick{8};
constexpr int kQuietTicks = 250; // then the thread sleeps until somebody wakes it

std::atomic<cairn_vm*> running{nullptr}, armed_machine{nullptr};
std::atomic<unsigned> lookers{0};
std::atomic<std::uint64_t> runs{0};
std::atomic<bool> asleep{false};
std::mutex mutex;
std::condition_variable wake;
bool stop = false;
sigset_t callers_mask; // of the main thread outside of the run; written before `running`, read while that is there
std::thread* thread = nullptr;
pthread_t main_thread;
bool main_thread_known = false;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGXCPU, SIGVTALRM, SIGPROF};
struct sigaction before[std::size(kSignals)];
bool taken[std::size(kSignals)];

extern "C" void cairn_python_signal(int number) {
  // Python's first: who is cancelled asks it what there is.
  for (std::size_t i = 0; i < std::size(kSignals); ++i)
    if (kSignals[i] == number && before[i].sa_handler != nullptr) before[i].sa_handler(number);
  ++lookers;
  if (cairn_vm* vm = armed_machine.load()) cairn_vm_cancel(vm);
  --lookers;
}

sigset_t all_signals() {
  sigset_t all;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
  return all;
}
const sigset_t kAllSignals = all_signals();

void watch() {
  std::uint64_t seen = 0, stopped = 0;
  int quiet = 0;
  std::unique_lock lock(mutex);
  while (!stop) {
    if (++quiet > kQuietTicks) {
      asleep = true;
      wake.wait(lock, [] { return stop || !asleep; });
      quiet = 0;
    }
    wake.wait_for(lock, kTick, [] { return stop; });
    ++lookers;
    const std::uint64_t run = runs.load();
    if (cairn_vm* vm = running.load()) {
      pthread_sigmask(SIG_SETMASK, &callers_mask, nullptr); // what waits is taken now
      // The same as a tick ago.
      if (run == seen && run != stopped) {
        stopped = run;
        cairn_vm_cancel(vm);
      }
      quiet = 0;
    } else {
      pthread_sigmask(SIG_SETMASK, &kAllSignals, nullptr);
    }
    seen = run;
    --lookers;
  }
}

// Where the system gives no thread, a run is not stopped, and signals wait for its end.
void start() {
  stop = false;
  asleep = false;
  try {
    thread = new std::thread(watch);
  } catch (const std::exception&) {
    asleep = true;
  }
}

// A child has none of our threads; who held the mutex is not there either.
void forget_in_child() {
  thread = nullptr;
  new (&mutex) std::mutex;
  new (&wake) std::condition_variable;
  running = nullptr;
  armed_machine = nullptr;
  lookers = 0;
  asleep = true;
  main_thread = pthread_self();
}

void wait_for_lookers() {
  while (lookers.load() != 0) std::this_thread::yield();
}

} // namespace

Watched::Watched(cairn_vm* vm) : watched_(main_thread_known && pthread_equal(pthread_self(), main_thread) != 0) {
  pthread_sigmask(SIG_SETMASK, &kAllSignals, &mask_);
  // A run inside of a run, in a procedure of the host: the outer one is watched.
  if (!watched_ || running.load(std::memory_order_relaxed) != nullptr) {
    watched_ = false;
    return;
  }
  runs.store(runs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  callers_mask = mask_;
  running.store(vm);
  if (asleep.load(std::memory_order_relaxed)) {
    if (thread == nullptr) {
      start();
      return;
    }
    const std::lock_guard lock(mutex);
    asleep = false;
    wake.notify_one();
  }
}

Watched::~Watched() {
  if (watched_) leave();
  admit_signals();
}

void Watched::refuse_signals() { pthread_sigmask(SIG_SETMASK, &kAllSignals, nullptr); }

void Watched::leave() {
  if (armed_) {
    armed_machine.store(nullptr);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      struct sigaction now {};
      // Unless somebody has set another one meanwhile.
      if (taken[i] && sigaction(kSignals[i], nullptr, &now) == 0 && now.sa_handler == cairn_python_signal)
        sigaction(kSignals[i], &before[i], nullptr);
      taken[i] = false;
    }
  }
  running.store(nullptr);
  wait_for_lookers();
}

void Watched::arm() {
  if (!watched_ || armed_) return;
  armed_ = true;
  armed_machine.store(running.load());
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction ours {};
    if (sigaction(kSignals[i], nullptr, &before[i]) != 0 || (before[i].sa_flags & SA_SIGINFO) != 0) continue;
    if (before[i].sa_handler == SIG_DFL || before[i].sa_handler == SIG_IGN) continue;
    ours = before[i];
    ours.sa_handler = cairn_python_signal;
    taken[i] = sigaction(kSignals[i], &ours, nullptr) == 0;
  }
}

void start_watching(unsigned long main) {
  if (main_thread_known) return;
  main_thread = static_cast<pthread_t>(main);
  main_thread_known = true;
  asleep = true;
  pthread_atfork(nullptr, nullptr, forget_in_child);
}

void stop_watching() {
  if (thread == nullptr) return;
  {
    const std::lock_guard lock(mutex);
    stop = true;
    asleep = false;
    wake.notify_one();
  }
  thread->join();
  delete thread;
  thread = nullptr;
  asleep = true;
}

} // namespace cairn::python
