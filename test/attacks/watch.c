/* Runs a command and says what it took: attack_watch CPU_SECONDS BYTES COMMAND [ARGUMENT ...]. One line on descriptor 3: the exit
 * code or minus the signal, microseconds of CPU, the most bytes resident. What takes longer, or far more memory, is killed. (A
 * small process by itself, since what is resident in the process that forks counts for its child.) */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double kMostWaiting = 100; /* seconds of the clock, for what does not even compute */

static int64_t resident_bytes(pid_t child) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/statm", (int)child);
  FILE* file = fopen(path, "r");
  long long pages = 0;
  if (file == NULL) return 0;
  if (fscanf(file, "%*s %lld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const rlim_t seconds = (rlim_t)atol(argv[1]);
  const struct rlimit cpu_limit = {seconds, seconds};
  const int64_t most_bytes = atoll(argv[2]);
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    close(3);
    setrlimit(RLIMIT_CPU, &cpu_limit);
    execv(argv[3], argv + 3);
    _exit(127);
  }
  struct rusage usage;
  int status = 0;
  const struct timespec nap = {0, 2000000};
  for (double waited = 0; wait4(child, &status, WNOHANG, &usage) == 0; waited += 0.002) {
    if (waited > kMostWaiting || resident_bytes(child) > most_bytes) kill(child, SIGKILL);
    nanosleep(&nap, NULL);
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  const int64_t cpu =
      ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  dprintf(3, "%d %" PRId64 " %" PRId64 "\n", code, cpu, (int64_t)usage.ru_maxrss * 1024);
  return 0;
}
