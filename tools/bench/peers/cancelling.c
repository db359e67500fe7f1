/* How long work goes on after it was cancelled: cancelling ACTION MILLISECONDS TIMES MEMORY FILE. A second thread cancels so long
 * after the work began; each line of the output is the time from then to the return of the call, in microseconds, or `ended`
 * where the work was over before. run: the program writes something, which is its beginning, and goes on with one long step; that
 * is stopped, and done again. save: the state in which it stands when it has written something becomes a file, again and again.
 * compile: the text itself. release: nothing is cancelled; the time is that of giving up what the procedure `make` of the program
 * makes, and `none` does not. cancelled-release: giving it up is cancelled. The rest is given up by the next run. */
#define _GNU_SOURCE
#include "cairn_compiler.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void need(cairn_status status, const char* what) {
  if (status == CAIRN_OK) return;
  fprintf(stderr, "%s: status %d\n", what, (int)status);
  exit(1);
}

/* What a second thread will do, once the work has begun. */
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static int g_begun, g_over;
static int64_t g_rang;
static long g_milliseconds;
static cairn_vm* g_vm;      /* cancelled, or else */
static volatile int g_flag; /* the flag of a compilation */

static void begin(void) {
  pthread_mutex_lock(&g_mutex);
  g_begun = 1;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_mutex);
}

static void* cancel(void* unused) {
  (void)unused;
  pthread_mutex_lock(&g_mutex);
  while (!g_begun && !g_over) pthread_cond_wait(&g_changed, &g_mutex);
  struct timespec due;
  clock_gettime(CLOCK_REALTIME, &due);
  due.tv_sec += g_milliseconds / 1000;
  due.tv_nsec += g_milliseconds % 1000 * 1000000;
  if (due.tv_nsec >= 1000000000) {
    due.tv_nsec -= 1000000000;
    ++due.tv_sec;
  }
  while (!g_over && pthread_cond_timedwait(&g_changed, &g_mutex, &due) == 0) {
  }
  if (!g_over) {
    g_rang = now();
    if (g_vm != NULL)
      cairn_vm_cancel(g_vm);
    else
      g_flag = 1;
  }
  pthread_mutex_unlock(&g_mutex);
  return NULL;
}

/* Calls work(user), which is cancelled, and prints what became of it. */
static cairn_status measured(cairn_status (*work)(void*), void* user, int at_once) {
  pthread_t thread;
  g_begun = at_once;
  g_over = 0;
  g_rang = 0;
  g_flag = 0;
  if (pthread_create(&thread, NULL, cancel, NULL) != 0) exit(1);
  const cairn_status status = work(user);
  const int64_t end = now();
  pthread_mutex_lock(&g_mutex);
  g_over = 1;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_mutex);
  pthread_join(thread, NULL);
  if (g_rang != 0)
    printf("%lld\n", (long long)(end - g_rang));
  else
    puts("ended");
  return status;
}

static int seen(void* user, const char* text, size_t bytes) {
  (void)user, (void)text, (void)bytes;
  begin();
  return 0;
}

static cairn_status run(void* user) { return cairn_vm_run(user, CAIRN_UNLIMITED); }
static cairn_status give_up(void* user) {
  cairn_value_release(g_vm, *(cairn_value*)user);
  return CAIRN_OK;
}
static cairn_status save(void* user) { return cairn_vm_save_file(g_vm, user, NULL); }
static cairn_status compile(void* user) {
  void* bytes = NULL;
  size_t size = 0;
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.cancel = &g_flag;
  const cairn_status status = cairn_compile_file(user, &options, &bytes, &size, NULL);
  cairn_compiler_free(bytes);
  return status;
}

static void make_machine(const char* file, uint64_t memory) {
  void* bytes = NULL;
  size_t size = 0;
  cairn_module* module = NULL;
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.memory_bytes = memory;
  options.output = seen;
  cairn_compiler_options compiler;
  cairn_compiler_options_init(&compiler);
  compiler.exports = 1;
  char* error = NULL;
  const cairn_status status = cairn_compile_file(file, &compiler, &bytes, &size, &error);
  if (error != NULL) fputs(error, stderr);
  need(status, "compile");
  need(cairn_module_read(bytes, size, &module, NULL), "module");
  cairn_compiler_free(bytes);
  need(cairn_vm_create(&options, &g_vm, NULL), "machine");
  need(cairn_vm_load(g_vm, module, NULL), "load");
  cairn_module_free(module);
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const char *action = argv[1], *file = argv[5];
  g_milliseconds = atol(argv[2]);
  const long times = atol(argv[3]);
  const uint64_t memory = strtoull(argv[4], NULL, 10);
  if (strcmp(action, "compile") == 0) {
    for (long i = 0; i < times; ++i) measured(compile, (void*)file, 1);
    return 0;
  }
  make_machine(file, memory);
  if (strcmp(action, "run") == 0) {
    int stands = 0; /* in the long step */
    for (long i = 0; i < times; ++i) {
      const cairn_status status = measured(run, g_vm, stands);
      stands = status == CAIRN_CANCELLED;
      if (stands) continue;
      if (status != CAIRN_OK) {
        char* text = NULL;
        cairn_vm_error(g_vm, &text);
        if (text != NULL) fputs(text, stderr);
        return 1;
      }
      cairn_vm_free(g_vm);
      make_machine(file, memory);
    }
  } else if (strcmp(action, "save") == 0) {
    char target[] = "/tmp/cancelling-XXXXXX";
    close(mkstemp(target));
    if (measured(run, g_vm, 0) != CAIRN_CANCELLED) return 1;
    for (long i = 0; i < times; ++i) measured(save, target, 1);
    unlink(target);
  } else {
    need(cairn_vm_run(g_vm, CAIRN_UNLIMITED), "run");
    for (long i = 0; i < times; ++i) {
      cairn_value make, none, large, nothing;
      need(cairn_vm_lookup(g_vm, "make", &make), "make");
      need(cairn_vm_call(g_vm, make, NULL, 0, &large), "call");
      cairn_value_release(g_vm, make);
      need(cairn_vm_lookup(g_vm, "none", &none), "none");
      need(cairn_vm_call(g_vm, none, NULL, 0, &nothing), "call"); /* the machine keeps its last result */
      if (strcmp(action, "cancelled-release") == 0) {
        measured(give_up, &large, 1);
        if (cairn_vm_begin(g_vm, none, NULL, 0) != CAIRN_OK) return 1;
        while (cairn_vm_run(g_vm, CAIRN_UNLIMITED) == CAIRN_CANCELLED) {
        }
        cairn_value_release(g_vm, none);
        continue;
      }
      cairn_value_release(g_vm, none);
      const int64_t start = now();
      cairn_value_release(g_vm, large);
      printf("%lld\n", (long long)(now() - start));
    }
  }
  cairn_vm_free(g_vm);
  return 0;
}
