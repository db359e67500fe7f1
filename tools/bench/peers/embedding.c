/* Cairn as a library: what a call from C costs, and what is lost when a thousand guests take turns.
 * Prints "NAME NUMBER" lines: nanoseconds a call, steps a second. Arguments: calls, guests, iterations of a guest, steps of a
 * slice. */
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

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* numbers, int count) {
  qsort(numbers, (size_t)count, sizeof *numbers, ascending);
  return numbers[count / 2];
}

/* Steps a second of `guests` machines in slices of `slice` steps, and of one machine that runs alone: turns of all guests and as
 * many steps of the one take turns themselves, so that a slow moment of the computer hits both. */
static void guests_in_turn(const cairn_module* small, const cairn_module* large, int guests, uint64_t slice) {
  enum { kTurns = 1000 };
  cairn_vm **vms = malloc((size_t)guests * sizeof *vms), *one = loaded(large);
  for (int i = 0; i < guests; ++i) vms[i] = loaded(small);
  double alone[kTurns], shared[kTurns], kept[kTurns];
  int turns = 0;
  for (int left = guests; left == guests && turns < kTurns; ++turns) {
    const double begin = seconds();
    if (cairn_vm_run(one, slice * (uint64_t)guests) != CAIRN_OUT_OF_STEPS) break;
    const double middle = seconds();
    for (int i = 0; i < guests; ++i)
      if (cairn_vm_run(vms[i], slice) != CAIRN_OUT_OF_STEPS) --left;
    if (left < guests) break; /* the last turns are shorter */
    alone[turns] = (double)slice * guests / (middle - begin);
    shared[turns] = (double)slice * guests / (seconds() - middle);
    kept[turns] = shared[turns] / alone[turns];
  }
  if (turns == 0) exit(1);
  printf("kept %.4f\n", median(kept, turns));
  printf("alone_steps_per_s %.0f\nshared_steps_per_s %.0f\n", median(alone, turns), median(shared, turns));
  for (int i = 0; i < guests; ++i) cairn_vm_free(vms[i]);
  cairn_vm_free(one);
  free(vms);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  int guests = atoi(argv[2]);
  long iterations = atol(argv[3]);
  calls(atol(argv[1]));
  char text[300];
  const char* form = "(define (work i l) (if (= i 0) (length l) (work (- i 1) (if (= 0 (remainder i 50)) '() (cons (* i 1.5) "
                     "l)))))\n(work %ld '())";
  snprintf(text, sizeof text, form, iterations);
  cairn_module* small = compiled(text);
  snprintf(text, sizeof text, form, iterations * guests);
  cairn_module* large = compiled(text);
  guests_in_turn(small, large, guests, strtoull(argv[4], NULL, 10));
  cairn_module_free(small);
  cairn_module_free(large);
  return 0;
}
