// The passes recurse over the nesting of the core, in which a `cond` nests as deep as it is long. That does not fit the 8 MiB a
// program is usually given, least of all with sanitizers, so deep programs are compiled on a thread whose stack is reserved for
// them. Pages that are not touched cost nothing, and are not counted by the system either (MAP_NORESERVE).

#include "compiler/back/big_stack.h"

#include "compiler/workspace.h"

#include <exception>
#include <pthread.h>
#include <sys/mman.h>

namespace cairn::compiler::back {
namespace {

constexpr std::size_t kBaseBytes = std::size_t{1} << 26;
constexpr std::size_t kLevelBytes = std::size_t{1} << 16; // inlining adds levels, sanitizers make frames larger
constexpr std::size_t kReserve = std::size_t{1} << 18;    // for what is done between two looks at the stack
constexpr std::size_t kGuardBytes = std::size_t{1} << 16; // at the low end, where the stack would run out

struct Job {
  const std::function<void()>* work;
  Workspace* workspace;
  Arena* arena;
  std::uintptr_t lowest; // below, the stack has run out
  std::exception_ptr failure;
};

void* start(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  Workspace::Installed counted(job.workspace);
  Arena::Installed installed(job.arena);
  try {
    Workspace::Stack stack(*job.workspace, job.lowest);
    (*job.work)();
  } catch (...) {
    job.failure = std::current_exception();
  }
  return nullptr;
}

// Address space that becomes memory where it is touched.
class Reservation {
public:
  explicit Reservation(std::size_t bytes)
      : bytes_(bytes),
        begin_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)) {}
  ~Reservation() {
    if (*this) munmap(begin_, bytes_);
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  explicit operator bool() const { return begin_ != MAP_FAILED; }
  void* begin() const { return begin_; }

private:
  std::size_t bytes_;
  void* begin_;
};

} // namespace

bool on_big_stack(std::size_t levels, const std::function<void()>& work) {
  std::size_t bytes = kBaseBytes + levels * kLevelBytes;
  Reservation stack(bytes);
  if (!stack || mprotect(stack.begin(), kGuardBytes, PROT_NONE) != 0) return false;
  auto begin = reinterpret_cast<std::uintptr_t>(stack.begin());
  Job job{&work, Workspace::current(), Arena::installed(), begin + kGuardBytes + kReserve, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack.begin(), bytes);
  pthread_t thread;
  int status = pthread_create(&thread, &attributes, start, &job);
  pthread_attr_destroy(&attributes);
  if (status != 0) return false;
  pthread_join(thread, nullptr);
  if (job.failure) std::rethrow_exception(job.failure);
  return true;
}

} // namespace cairn::compiler::back
