/* Cairn as a library: what a call from C costs, and what is lost when a thousand guests take turns.
 * Prints "NAME NUMBER" lines: nanoseconds a call, steps a second. Arguments: calls, guests, iterations of a guest, steps of a slice. */
#include "cairn.h"
#include "cairn_compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(cairn_status status) {
  if (status == CAIRN_OK) return;
  fprintf(stderr, "status %d\n", (int)status);
  exit(1);
}

static cairn_module* compiled(const char* text) {
  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  cairn_module* module = NULL;
  if (cairn_compile("bench.scm", text, strlen(text), NULL, &bytes, &size, &error) != CAIRN_OK) fputs(error, stderr);
  must(cairn_module_read(bytes, size, &module, NULL));
  cairn_compiler_free(bytes);
  return module;
}

static cairn_vm* loaded(const cairn_module* module) {
  cairn_vm* vm = NULL;
  must(cairn_vm_create(NULL, &vm, NULL));
  must(cairn_vm_load(vm, module, NULL));
  return vm;
}

static void calls(long count) {
  cairn_module* module = compiled("(define (next x) (+ x 1))");
  cairn_vm* vm = loaded(module);
  must(cairn_vm_run(vm, CAIRN_UNLIMITED));
  cairn_value next, v = cairn_integer(0);
  must(cairn_vm_lookup(vm, "next", &next));
  double start = seconds();
  for (long i = 0; i < count; ++i) must(cairn_vm_call(vm, next, &v, 1, &v));
  double took = seconds() - start;
  int64_t n = 0;
  must(cairn_get_integer(v, &n));
  if (n != count) exit(1);
  printf("call_ns %.1f\n", took / (double)count * 1e9);
  cairn_value_release(vm, next);
  cairn_vm_free(vm);
  cairn_module_free(module);
}

/* Steps a second of `guests` machines in slices of `slice` steps, or of one machine that does the work of all, whole. */
static double rate(const cairn_module* module, int guests, uint64_t slice) {
  cairn_vm **vms = malloc((size_t)guests * sizeof *vms), **done = malloc((size_t)guests * sizeof *done);
  for (int i = 0; i < guests; ++i) vms[i] = loaded(module);
  uint64_t steps = 0;
  int left = guests;
  double start = seconds();
  while (left > 0)
    for (int i = 0; i < guests; ++i) {
      if (vms[i] == NULL) continue;
      cairn_status status = cairn_vm_run(vms[i], slice);
      if (status == CAIRN_OUT_OF_STEPS) continue;
      must(status);
      steps += cairn_vm_steps(vms[i]);
      done[i] = vms[i];
      vms[i] = NULL;
      --left;
    }
  double took = seconds() - start;
  for (int i = 0; i < guests; ++i) cairn_vm_free(done[i]);
  free(done);
  free(vms);
  return (double)steps / took;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  int guests = atoi(argv[2]);
  long iterations = atol(argv[3]);
  calls(atol(argv[1]));
  char text[300];
  const char* form = "(define (work i l) (if (= i 0) (length l) (work (- i 1) (if (= 0 (remainder i 50)) '() (cons (* i 1.5) l)))))\n(work %ld '())";
  snprintf(text, sizeof text, form, iterations);
  cairn_module* small = compiled(text);
  snprintf(text, sizeof text, form, iterations * guests);
  cairn_module* large = compiled(text);
  double best_alone = 0, best_shared = 0;
  for (int round = 0; round < 3; ++round) {
    double alone = rate(large, 1, CAIRN_UNLIMITED), shared = rate(small, guests, strtoull(argv[4], NULL, 10));
    if (alone > best_alone) best_alone = alone;
    if (shared > best_shared) best_shared = shared;
  }
  printf("alone_steps_per_s %.0f\nshared_steps_per_s %.0f\n", best_alone, best_shared);
  cairn_module_free(small);
  cairn_module_free(large);
  return 0;
}
