/* Procedures of the host in a gradient. The guest estimates the start of a chain of springs from measurements. `force`, the
 * model, is C code with a derivative written by hand; the schedule's replays call it again. `measure` stands for an instrument:
 * it is an effect, so replays must not touch it. It is called once a measurement, and replays read what it gave from the log of
 * the run.
 *
 *   cc -std=c11 host.c -o host $(pkg-config --cflags --libs cairn cairn_compiler) -lm -Wl,-rpath,$(pkg-config --variable=libdir
 * cairn) */
#include "cairn.h"
#include "cairn_compiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 4, TIME_STEPS = 500 };

/* The sum of the squares of what the model misses of each measurement, by the positions at the start. */
static const char kSource[] =
    "(define dt 0.02)\n"
    "(define (along v w) (build-vector (vector-length v) (lambda (i) (+ (vector-ref v i) (* dt (vector-ref w i))))))\n"
    "(define (misfit start)\n"
    "  (let loop ((i 0) (x start) (v (vector-map (lambda (p) 0) start)) (sum 0))\n"
    "    (if (= i 500)\n"
    "        sum\n"
    "        (let* ((v (along v (force x))) (x (along x v)) (miss (- (vector-ref x 0) (measure i))))\n"
    "          (loop (+ i 1) x v (+ sum (* miss miss)))))))\n";

struct counts {
  unsigned long force, measure;
};

static void check(cairn_status status, const char* what, const char* error) {
  if (status == CAIRN_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, error == NULL ? "" : error);
  exit(1);
}

/* Springs that harden between neighbours; the first body hangs on a wall. The force on body i pulls it to i - 1 and i + 1. */
static double spring(double stretch) { return stretch + stretch * stretch * stretch; }
static double stiffness(double stretch) { return 1 + 3 * stretch * stretch; }

static cairn_status force(void* user, cairn_vm* vm, const cairn_value* arguments, size_t count, cairn_value* value) {
  double x[BODIES], f[BODIES];
  size_t bodies = 0;
  (void)count; /* as registered: the compiler and the machine see to it */
  ++((struct counts*)user)->force;
  cairn_status status = cairn_get_reals(arguments[0], x, BODIES, &bodies);
  if (status != CAIRN_OK || bodies != BODIES) {
    cairn_host_complain(vm, "expected a vector of four positions");
    return CAIRN_BAD_ARGUMENT;
  }
  for (int i = 0; i < BODIES; ++i)
    f[i] = -spring(x[i] - (i == 0 ? 0 : x[i - 1])) + (i + 1 < BODIES ? spring(x[i + 1] - x[i]) : 0);
  return cairn_make_reals(vm, f, BODIES, value);
}

/* What `jacobian` holds is zero but for a body and its neighbours. */
static cairn_status force_derivative(void* user, const double* x, size_t x_count, const double* y, size_t y_count,
                                     double* jacobian) {
  (void)user, (void)y;
  if (x_count != BODIES || y_count != BODIES) return CAIRN_BAD_ARGUMENT;
  for (int i = 0; i < BODIES; ++i) {
    double* row = jacobian + (size_t)i * x_count;
    double left = stiffness(x[i] - (i == 0 ? 0 : x[i - 1])), right = i + 1 < BODIES ? stiffness(x[i + 1] - x[i]) : 0;
    row[i] = -left - right;
    if (i > 0) row[i - 1] = left;
    if (i + 1 < BODIES) row[i + 1] = right;
  }
  return CAIRN_OK;
}

/* The reading at time step i. Without a derivative: its result is a constant. */
static cairn_status measure(void* user, cairn_vm* vm, const cairn_value* arguments, size_t count, cairn_value* value) {
  int64_t i = 0;
  (void)vm, (void)count;
  ++((struct counts*)user)->measure;
  cairn_status status = cairn_get_integer(arguments[0], &i);
  if (status == CAIRN_OK) *value = cairn_real(0.2 * cos(0.02 * (double)i));
  return status;
}

static cairn_module* compile(void) {
  static const cairn_host_declaration hosts[] = {{"force", 1}, {"measure", 1}};
  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  cairn_module* module = NULL;
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.hosts = hosts;
  options.host_count = 2;
  check(cairn_compile("misfit.scm", kSource, strlen(kSource), &options, &bytes, &size, &error), "compile", error);
  check(cairn_module_read(bytes, size, &module, &error), "read", error);
  cairn_compiler_free(bytes);
  return module;
}

static cairn_vm* create(struct counts* counts) {
  const cairn_host_procedure procedures[] = {
      {sizeof(cairn_host_procedure), "force", 1, force, force_derivative, /* repeatable */ 1, counts, NULL, NULL},
      {sizeof(cairn_host_procedure), "measure", 1, measure, NULL, /* repeatable */ 0, counts, NULL, NULL},
  };
  char* error = NULL;
  cairn_vm* vm = NULL;
  check(cairn_vm_create(NULL, &vm, &error), "create", error);
  for (int i = 0; i < 2; ++i) check(cairn_vm_register(vm, &procedures[i], &error), "register", error);
  cairn_module* module = compile();
  check(cairn_vm_load(vm, module, &error), "load", error);
  cairn_module_free(module);
  check(cairn_vm_run(vm, CAIRN_UNLIMITED), "run", NULL); /* the definitions */
  return vm;
}

static double misfit_at(cairn_vm* vm, cairn_value misfit, const double* start) {
  cairn_value x, y;
  double number = 0;
  check(cairn_make_reals(vm, start, BODIES, &x), "make_reals", NULL);
  check(cairn_vm_call(vm, misfit, &x, 1, &y), "call", NULL);
  check(cairn_get_real(y, &number), "get_real", NULL);
  cairn_value_release(vm, x);
  return number;
}

static void gradient_at(cairn_vm* vm, cairn_value misfit, const double* start, const char* schedule, double* gradient) {
  cairn_value x, pair, y, cotangent;
  size_t count = 0;
  check(cairn_make_reals(vm, start, BODIES, &x), "make_reals", NULL);
  check(cairn_vm_begin_checkpoint_reverse(vm, misfit, x, cairn_real(1), schedule), "begin", NULL);
  check(cairn_vm_run(vm, CAIRN_UNLIMITED), "run", NULL);
  check(cairn_vm_value(vm, &pair), "value", NULL);
  check(cairn_get_pair(pair, &y, &cotangent), "get_pair", NULL);
  check(cairn_get_reals(cotangent, gradient, BODIES, &count), "get_reals", NULL);
  cairn_value_release(vm, cotangent);
  cairn_value_release(vm, y);
  cairn_value_release(vm, pair);
  cairn_value_release(vm, x);
}

int main(void) {
  static const char* const schedules[] = {"tape", "binomial,snapshots=3,base=256", "online,base=256"};
  double start[BODIES] = {0.1, 0.3, 0.2, 0.5}, first[BODIES];
  struct counts counts = {0};
  cairn_vm* vm = create(&counts);
  cairn_value misfit;
  check(cairn_vm_lookup(vm, "misfit", &misfit), "lookup", NULL);

  for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; ++i) {
    double gradient[BODIES];
    counts = (struct counts){0};
    gradient_at(vm, misfit, start, schedules[i], gradient);
    if (i == 0) memcpy(first, gradient, sizeof first);
    printf("%s: measured %lu times, force computed %s, gradient %s\n", schedules[i], counts.measure,
           counts.force == TIME_STEPS ? "as often" : "more often",
           memcmp(first, gradient, sizeof first) == 0 ? "the same" : "differs");
  }
  double value = misfit_at(vm, misfit, start);
  printf("misfit %.6f\n", value);
  for (size_t i = 0; i < BODIES; ++i) {
    const double h = 1e-7, kept = start[i];
    start[i] = kept + h;
    double quotient = (misfit_at(vm, misfit, start) - value) / h;
    start[i] = kept;
    int near = fabs(quotient - first[i]) <= 1e-4 * (1 + fabs(first[i]));
    printf("gradient[%d] %.6f, a difference quotient agrees: %s\n", (int)i, first[i], near ? "yes" : "no");
  }

  cairn_value_release(vm, misfit);
  cairn_vm_free(vm);
  return 0;
}

/* Prints:
tape: measured 500 times, force computed as often, gradient the same
binomial,snapshots=3,base=256: measured 500 times, force computed more often, gradient the same
online,base=256: measured 500 times, force computed more often, gradient the same
misfit 21.330501
gradient[0] -24.460647, a difference quotient agrees: yes
gradient[1] -26.529916, a difference quotient agrees: yes
gradient[2] -19.710718, a difference quotient agrees: yes
gradient[3] 66.847926, a difference quotient agrees: yes
*/
