// The passes recurse over the nesting of the source. Ten thousand levels, grown by inlining, do not fit the 8 MiB a program is
// usually given, least of all with sanitizers, so deep programs are compiled on a thread whose stack is reserved for it; pages
// that are not touched cost nothing.

#include "compiler/back/big_stack.h"

#include <cstddef>
#include <exception>
#include <pthread.h>

namespace cairn::compiler::back {
namespace {

constexpr std::size_t kStackBytes = std::size_t{1} << 29;

struct Job {
  const std::function<void()>* work;
  std::exception_ptr failure;
};

void* start(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  try {
    (*job.work)();
  } catch (...) {
    job.failure = std::current_exception();
  }
  return nullptr;
}

} // namespace

bool on_big_stack(const std::function<void()>& work) {
  Job job{&work, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  int status = pthread_create(&thread, &attributes, start, &job);
  pthread_attr_destroy(&attributes);
  if (status != 0) return false;
  pthread_join(thread, nullptr);
  if (job.failure) std::rethrow_exception(job.failure);
  return true;
}

} // namespace cairn::compiler::back
