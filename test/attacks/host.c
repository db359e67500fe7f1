/* A host that cancels its guest: attack_host [--memory=BYTES] [--device=DEVICE] [--checkpoint=SPEC] [--check-nan] [--input=FILE]
 * --cancel=MS,MS,... FILE [ARGUMENT ...]. The program runs, is cancelled after so many milliseconds, goes on, and so forth; each
 * line of the output is the time from a cairn_vm_cancel to the end of its cairn_vm_run, in microseconds. The last line is `ended
 * STATUS`: that of the run that the program itself ended, or of the last one. Then all is given up and freed. */
#define _GNU_SOURCE
#include "cairn_compiler.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct timespec now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t;
}
static struct timespec computed(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t;
}
static int64_t microseconds(struct timespec from, struct timespec to) {
  return (int64_t)(to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
}

/* Cancels the machine after some time, unless the run ends first. */
typedef struct Alarm {
  pthread_mutex_t mutex;
  pthread_cond_t stop;
  cairn_vm* vm;
  struct timespec due, rang, computed;
  int stopped, has_rung;
} Alarm;

static void* wait_and_cancel(void* user) {
  Alarm* alarm = user;
  pthread_mutex_lock(&alarm->mutex);
  int timed_out = 0;
  while (!alarm->stopped && !timed_out) timed_out = pthread_cond_timedwait(&alarm->stop, &alarm->mutex, &alarm->due) != 0;
  if (!alarm->stopped) {
    alarm->rang = now();
    alarm->computed = computed();
    alarm->has_rung = 1;
    cairn_vm_cancel(alarm->vm);
  }
  pthread_mutex_unlock(&alarm->mutex);
  return NULL;
}

/* Runs until the program ends or the alarm rings, and tells how long it took from then on. */
static void run_for(cairn_vm* vm, long milliseconds, cairn_status* status) {
  Alarm alarm = {.vm = vm};
  pthread_mutex_init(&alarm.mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&alarm.stop, &monotonic);
  alarm.due = now();
  alarm.due.tv_sec += milliseconds / 1000;
  alarm.due.tv_nsec += milliseconds % 1000 * 1000000;
  if (alarm.due.tv_nsec >= 1000000000) {
    alarm.due.tv_nsec -= 1000000000;
    ++alarm.due.tv_sec;
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_and_cancel, &alarm) != 0) abort();
  *status = cairn_vm_run(vm, CAIRN_UNLIMITED);
  const struct timespec end = now(), end_computed = computed();
  pthread_mutex_lock(&alarm.mutex);
  alarm.stopped = 1;
  pthread_cond_signal(&alarm.stop);
  pthread_mutex_unlock(&alarm.mutex);
  pthread_join(thread, NULL);
  pthread_cond_destroy(&alarm.stop);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_destroy(&alarm.mutex);
  if (alarm.has_rung)
    printf("%" PRId64 " %" PRId64 "\n", microseconds(alarm.rang, end), microseconds(alarm.computed, end_computed));
}

static size_t read_input(void* user, char* buffer, size_t capacity) { return fread(buffer, 1, capacity, user); }

/* "--NAME=" at the beginning of a word, or NULL. */
static const char* value_of(const char* word, const char* option) {
  const size_t length = strlen(option);
  return strncmp(word, option, length) == 0 ? word + length : NULL;
}

int main(int argc, char** argv) {
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  const char *delays = "", *value;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    if ((value = value_of(argv[at], "--memory=")) != NULL)
      options.memory_bytes = strtoull(value, NULL, 10);
    else if ((value = value_of(argv[at], "--device=")) != NULL)
      options.device = value;
    else if ((value = value_of(argv[at], "--checkpoint=")) != NULL)
      options.schedule = value;
    else if ((value = value_of(argv[at], "--cancel=")) != NULL)
      delays = value;
    else if (strcmp(argv[at], "--check-nan") == 0)
      options.check_nan = 1;
    else if ((value = value_of(argv[at], "--input=")) != NULL) {
      options.input = read_input;
      options.user = fopen(value, "rb");
    } else
      return 2;
  }
  if (at >= argc) return 2;
  const char* file = argv[at++];
  options.arguments = (const char* const*)argv + at;
  options.argument_count = (size_t)(argc - at);

  void* bytes = NULL;
  size_t size = 0;
  cairn_module* module = NULL;
  cairn_vm* vm = NULL;
  cairn_compiler_options compiling;
  cairn_compiler_options_init(&compiling);
  compiling.memory_bytes = (size_t)64 << 20; /* what vmrun gives it at least */
  cairn_status status = cairn_compile_file(file, &compiling, &bytes, &size, NULL);
  if (status == CAIRN_OK) status = cairn_module_read(bytes, size, &module, NULL);
  cairn_compiler_free(bytes);
  if (status == CAIRN_OK) status = cairn_vm_create(&options, &vm, NULL);
  if (status == CAIRN_OK) status = cairn_vm_grant(vm, CAIRN_GRANT_READ | CAIRN_GRANT_WRITE, ".", NULL);
  if (status == CAIRN_OK) status = cairn_vm_reserve(vm, "/proc/self/fd/1", "this host", NULL);
  if (status == CAIRN_OK) status = cairn_vm_load(vm, module, NULL);
  cairn_module_free(module);
  if (status == CAIRN_OK) status = CAIRN_CANCELLED;
  while (status == CAIRN_CANCELLED && *delays != '\0') {
    char* rest;
    run_for(vm, strtol(delays, &rest, 10), &status);
    delays = *rest == ',' ? rest + 1 : rest;
  }
  printf("ended %d\n", (int)status);
  cairn_vm_free(vm);
  if (options.user != NULL) fclose(options.user);
  return 0;
}
