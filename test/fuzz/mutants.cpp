// Changes files of one kind by the million, for the loader of modules, capsules or streaming plans or for the readers that
// programs have, or makes random calls of the C API, in the ordinary build, as users have it: no sanitizers, the memory of the
// system, compiled as what is installed. Workers are forked; one that dies, hangs, or takes more memory or time than it may is
// told with the mutant that did it, which is made again from seed and number alone.
//
//   mutants module|capsule|plan|readers|calls [--count=N] [--seed=S] [--first=I] [--jobs=J] [--keep=FOLDER]
//   mutants module|capsule|plan|readers|calls --seed=S --only=I     that mutant in this process, for a debugger
#include "test/fuzz/readers.h"
#include "test/fuzz/trials.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <new>
#include <string_view>
#include <thread>

using namespace fuzzing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size); // of api_calls.cpp

namespace {

constexpr std::uint64_t kBatch = 5'000;          // mutants of a worker
constexpr std::int64_t kMostResident = 64 << 20; // bytes beyond what a worker begins with, and the budget
constexpr std::size_t kMostRead = 16 << 10;      // bytes of a damaged file
constexpr double kMostSeconds = 2;  // of CPU for one mutant: what one step may take is bounded by the budget of memory
constexpr double kHangSeconds = 60; // of the clock
constexpr unsigned kMostFaults = 20;

enum class Subject : std::uint8_t { module, capsule, plan, readers, calls };
constexpr std::string_view kSubjects[] = {"module", "capsule", "plan", "readers", "calls"};

struct Options {
  Subject subject = Subject::module;
  std::string_view name() const { return kSubjects[static_cast<std::size_t>(subject)]; }
  FileKind kind() const {
    return subject == Subject::capsule ? FileKind::capsule : subject == Subject::plan ? FileKind::plan : FileKind::module;
  }
  std::uint64_t count = 10'000, seed = 1, first = 0, only = UINT64_MAX;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::string keep = ".";
};

// What a worker tells while it works.
struct Progress {
  std::atomic<std::uint64_t> next{0}, tried{0}, accepted{0}, ran{0};
};

using Clock = std::chrono::steady_clock;

class Mutants {
public:
  explicit Mutants(const Options& options) : options_(options) {
    if (options.subject == Subject::readers) readers_ = std::make_unique<Readers>();
    if (options.subject == Subject::readers || options.subject == Subject::calls) return;
    for (Bytes& file : seeds(options.kind())) originals_.emplace_back(std::move(file), options.kind());
  }

  Bytes mutant(std::uint64_t index) const {
    Random random(options_.seed * 0x9E3779B97F4A7C15 + index);
    if (options_.subject == Subject::calls) {
      Bytes bytes(20 + random() % 300);
      for (std::byte& b : bytes) b = static_cast<std::byte>(random());
      return bytes;
    }
    if (options_.subject == Subject::readers) return readers_->damaged_input(random, kMostRead);
    const Original& original = originals_[random() % originals_.size()];
    return original.changed(random, originals_[random() % originals_.size()]);
  }

  // In a worker.
  void work(std::uint64_t from, std::uint64_t to, Progress& progress) const {
    const std::int64_t resident = most_resident();
    for (std::uint64_t i = from; i < to; ++i) {
      progress.next = i;
      const Bytes file = mutant(i);
      const double begin = cpu_seconds();
      const Verdict verdict = attempt(file);
      promise(cpu_seconds() - begin < kMostSeconds, "a mutant takes no longer than it may");
      promise(most_resident() - resident < kMostResident + kMemoryBytes, "a mutant takes no more memory than it may");
      ++progress.tried;
      progress.accepted += verdict.accepted ? 1 : 0;
      progress.ran += verdict.ran ? 1 : 0;
    }
    if (readers_) readers_->leave();
  }

private:
  Verdict attempt(const Bytes& file) const {
    if (options_.subject == Subject::readers) return {readers_->attempt(file), true};
    if (options_.subject != Subject::calls) return try_file(file, options_.kind());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    return {true, true};
  }
  static double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  static std::int64_t most_resident() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
  }

  const Options& options_;
  std::vector<Original> originals_;
  std::unique_ptr<Readers> readers_;
};

// Workers, one after the other in each of some places.
class Crew {
public:
  Crew(const Options& options, const Mutants& mutants)
      : options_(options), mutants_(mutants), next_(options.first), places_(options.jobs) {
    void* memory = mmap(nullptr, places_.size() * sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    promise(memory != MAP_FAILED, "there is memory to share");
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i].progress = new (static_cast<Progress*>(memory) + i) Progress;
  }

  // The number of faults.
  unsigned run() {
    const std::uint64_t end = options_.first + options_.count;
    bool busy = true;
    while (busy) {
      busy = false;
      for (Place& place : places_) {
        if (place.worker == 0 && place.from == place.to && next_ < end && faults_ < kMostFaults) {
          place.from = next_;
          place.to = next_ = std::min(end, next_ + kBatch);
        }
        if (place.worker == 0 && place.from < place.to && faults_ < kMostFaults) start(place);
        if (place.worker != 0) watch(place);
        busy = busy || place.worker != 0 || (faults_ < kMostFaults && (place.from < place.to || next_ < end));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::uint64_t tried = 0, accepted = 0, ran = 0;
    for (const Place& place : places_)
      tried += place.progress->tried, accepted += place.progress->accepted, ran += place.progress->ran;
    std::printf("%s mutants: %llu tried, %llu accepted, %llu run, %u faults\n", std::string(options_.name()).c_str(),
                static_cast<unsigned long long>(tried), static_cast<unsigned long long>(accepted),
                static_cast<unsigned long long>(ran), faults_);
    return faults_;
  }

private:
  struct Place {
    Progress* progress = nullptr;
    pid_t worker = 0;
    std::uint64_t from = 0, to = 0, seen = 0;
    Clock::time_point since;
  };

  void start(Place& place) {
    place.progress->next = place.from;
    place.seen = place.from;
    place.since = Clock::now();
    std::fflush(nullptr);
    place.worker = fork();
    promise(place.worker >= 0, "a worker can be forked");
    if (place.worker != 0) return;
    mutants_.work(place.from, place.to, *place.progress);
    _exit(0);
  }

  void watch(Place& place) {
    int status = 0;
    if (waitpid(place.worker, &status, WNOHANG) == place.worker) {
      place.worker = 0;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        place.from = place.to;
      else
        fault(place, WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status)) : "exit");
      return;
    }
    const std::uint64_t now = place.progress->next;
    if (now != place.seen) {
      place.seen = now;
      place.since = Clock::now();
    } else if (Clock::now() - place.since > std::chrono::duration<double>(kHangSeconds)) {
      kill(place.worker, SIGKILL);
      waitpid(place.worker, &status, 0);
      place.worker = 0;
      fault(place, "it does not end");
    }
  }

  void fault(Place& place, const std::string& what) {
    const std::uint64_t index = place.progress->next;
    const std::string kind(options_.name());
    const std::string path = options_.keep + "/" + kind + "-" + std::to_string(options_.seed) + "-" + std::to_string(index);
    const Bytes file = mutants_.mutant(index);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    std::printf("mutant %llu: %s; again by: mutants %s --seed=%llu --only=%llu; kept as %s\n",
                static_cast<unsigned long long>(index), what.c_str(), kind.c_str(),
                static_cast<unsigned long long>(options_.seed), static_cast<unsigned long long>(index), path.c_str());
    std::fflush(stdout);
    ++faults_;
    place.from = index + 1;
  }

  const Options& options_;
  const Mutants& mutants_;
  std::uint64_t next_;
  std::vector<Place> places_;
  unsigned faults_ = 0;
};

int usage() {
  std::fputs("usage: mutants module|capsule|plan|readers|calls [--count=N] [--seed=S] [--first=I] [--jobs=J] [--keep=FOLDER] "
             "[--only=I]\n",
             stderr);
  return 2;
}

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2) return false;
  const auto* subject = std::ranges::find(kSubjects, std::string_view(argv[1]));
  if (subject == std::end(kSubjects)) return false;
  options.subject = static_cast<Subject>(subject - kSubjects);
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "--keep") {
      options.keep = value;
      continue;
    }
    if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) return false;
    const std::uint64_t number = std::stoull(value);
    if (name == "--count")
      options.count = number;
    else if (name == "--seed")
      options.seed = number;
    else if (name == "--first")
      options.first = number;
    else if (name == "--only")
      options.only = number;
    else if (name == "--jobs")
      options.jobs = static_cast<unsigned>(std::clamp<std::uint64_t>(number, 1, 256));
    else
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return usage();
  recycles_regions = false;
  const Mutants mutants(options);
  if (options.only != UINT64_MAX) {
    Progress progress;
    mutants.work(options.only, options.only + 1, progress);
    std::printf("mutant %llu: %s\n", static_cast<unsigned long long>(options.only),
                progress.accepted != 0 ? "accepted" : "refused");
    return 0;
  }
  return Crew(options, mutants).run() == 0 ? 0 : 1;
}
