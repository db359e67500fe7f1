/* The gradient of a guest's procedure, asked for by C: numbers go in as a C array, the gradient comes out as one. It is computed
 * under a schedule with few snapshots, in slices between which this program could do anything else, and compared with difference
 * quotients. Counters go to standard error.
 *
 *   cc -std=c11 gradient.c -o gradient $(pkg-config --cflags --libs cairn cairn_compiler) -lm -Wl,-rpath,$(pkg-config
 * --variable=libdir cairn) */
#include "cairn.h"
#include "cairn_compiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 3, SLICE_STEPS = 100000 };

/* A ball is thrown with speed u to the right and v upwards against drag k; how far from 10 is it after one second? */
static const char kSource[] =
    "(define n 4000)\n"
    "(define dt (/ 1. n))\n"
    "(define (miss v)\n"
    "  (let loop ((i 0) (x 0.) (y 0.) (u (vector-ref v 0)) (w (vector-ref v 1)))\n"
    "    (if (= i n)\n"
    "        (+ (* (- x 10) (- x 10)) (* y y))\n"
    "        (let ((drag (* (vector-ref v 2) (sqrt (+ (* u u) (* w w))))))\n"
    "          (loop (+ i 1) (+ x (* dt u)) (+ y (* dt w)) (- u (* dt drag u)) (- w (* dt (+ 9.81 (* drag w)))))))))\n";

static void check(cairn_status status, const char* what, const char* error) {
  if (status == CAIRN_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, error == NULL ? "" : error);
  exit(1);
}

static cairn_vm* load(const char* name, const char* source) {
  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  cairn_module* module = NULL;
  cairn_vm* vm = NULL;
  check(cairn_compile(name, source, strlen(source), NULL, &bytes, &size, &error), "compile", error);
  check(cairn_module_read(bytes, size, &module, &error), "read", error);
  check(cairn_vm_create(NULL, &vm, &error), "create", error);
  check(cairn_vm_load(vm, module, &error), "load", error);
  check(cairn_vm_run(vm, CAIRN_UNLIMITED), "run", NULL); /* the definitions */
  cairn_module_free(module);
  cairn_compiler_free(bytes);
  return vm;
}

static double value_at(cairn_vm* vm, cairn_value f, const double* x) {
  cairn_value vector, y;
  double number = 0;
  check(cairn_make_reals(vm, x, PARAMETERS, &vector), "make_reals", NULL);
  check(cairn_vm_call(vm, f, &vector, 1, &y), "call", NULL);
  check(cairn_get_real(y, &number), "get_real", NULL);
  cairn_value_release(vm, vector);
  return number;
}

/* The value of f at x; its gradient in `gradient`. */
static double gradient_at(cairn_vm* vm, cairn_value f, const double* x, double* gradient) {
  cairn_value vector, pair, y, cotangent;
  cairn_status status;
  double number = 0;
  size_t count = 0;
  check(cairn_make_reals(vm, x, PARAMETERS, &vector), "make_reals", NULL);
  check(cairn_vm_begin_checkpoint_reverse(vm, f, vector, cairn_real(1), "binomial,snapshots=5"), "begin", NULL);
  while ((status = cairn_vm_run(vm, SLICE_STEPS)) == CAIRN_OUT_OF_STEPS) continue;
  check(status, "run", NULL);
  check(cairn_vm_value(vm, &pair), "value", NULL);
  check(cairn_get_pair(pair, &y, &cotangent), "get_pair", NULL);
  check(cairn_get_real(y, &number), "get_real", NULL);
  check(cairn_get_reals(cotangent, gradient, PARAMETERS, &count), "get_reals", NULL);
  cairn_value_release(vm, cotangent);
  cairn_value_release(vm, y);
  cairn_value_release(vm, pair);
  cairn_value_release(vm, vector);
  return number;
}

int main(void) {
  double x[PARAMETERS] = {11, 5, 0.02}, gradient[PARAMETERS];
  char* statistics = NULL;
  cairn_vm* vm = load("miss.scm", kSource);
  cairn_value miss;
  check(cairn_vm_lookup(vm, "miss", &miss), "lookup", NULL);

  double value = gradient_at(vm, miss, x, gradient);
  printf("value %.6f, the same by a plain call: %s\n", value, value == value_at(vm, miss, x) ? "yes" : "no");
  check(cairn_vm_statistics(vm, &statistics), "statistics", NULL);
  fprintf(stderr, "%s\n", statistics);
  cairn_free(statistics);

  for (size_t i = 0; i < PARAMETERS; ++i) {
    const double h = 1e-7, kept = x[i];
    x[i] = kept + h;
    double quotient = (value_at(vm, miss, x) - value) / h;
    x[i] = kept;
    int near = fabs(quotient - gradient[i]) <= 1e-4 * (1 + fabs(gradient[i]));
    printf("gradient[%d] %.6f, a difference quotient agrees: %s\n", (int)i, gradient[i], near ? "yes" : "no");
  }

  cairn_value_release(vm, miss);
  cairn_vm_free(vm);
  return 0;
}

/* Prints:
value 0.015277, the same by a plain call: yes
gradient[0] -0.145962, a difference quotient agrees: yes
gradient[1] -0.148778, a difference quotient agrees: yes
gradient[2] 9.976613, a difference quotient agrees: yes
*/
