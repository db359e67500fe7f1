/* A running guest moves to another process, wherever it stands: before, in the first run of and in the replays of a gradient. Its
 * state is written to a file, this program starts itself a second time with that file, and what both have printed together is
 * what one undisturbed run prints. The file holds the program too: the second process needs nothing else.
 *
 *   cc -std=c11 migrate.c -o migrate $(pkg-config --cflags --libs cairn cairn_compiler) -lm -Wl,-rpath,$(pkg-config
 * --variable=libdir cairn) */
#define _POSIX_C_SOURCE 200809L
#include "cairn.h"
#include "cairn_compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char kSource[] = "(define (orbit r)\n"
                              "  (let loop ((i 0) (x 0.5)) (if (= i 20000) x (loop (+ i 1) (* r x (- 1 x))))))\n"
                              "(display \"value \") (write-real (orbit 2.5))\n"
                              "(display \"gradient \") (write-real (cdr (checkpoint-*j orbit 2.5 1)))\n";
static const char kCapsule[] = "migrate.capsule";

struct text {
  char bytes[1000];
  size_t size;
};

static void check(cairn_status status, const char* what, const char* error) {
  if (status == CAIRN_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, error == NULL ? "" : error);
  exit(1);
}

static void expect(int truth, const char* what) {
  if (truth) return;
  perror(what);
  exit(1);
}

static int collect(void* user, const char* bytes, size_t size) {
  struct text* text = user;
  if (size > sizeof text->bytes - text->size) return 1;
  memcpy(text->bytes + text->size, bytes, size);
  text->size += size;
  return 0;
}

/* A machine whose output goes to `output`; a restored one has schedule, seed and arguments from its capsule. */
static cairn_vm* create(struct text* output) {
  cairn_vm_options options;
  cairn_vm* vm = NULL;
  char* error = NULL;
  cairn_vm_options_init(&options);
  options.schedule = "binomial,snapshots=4";
  options.output = collect;
  options.user = output;
  check(cairn_vm_create(&options, &vm, &error), "create", error);
  return vm;
}

static cairn_vm* load(const cairn_module* module, struct text* output) {
  char* error = NULL;
  cairn_vm* vm = create(output);
  check(cairn_vm_load(vm, module, &error), "load", error);
  return vm;
}

/* The second process: goes on with what the file holds, and prints what is printed from there on. */
static int go_on(const char* path) {
  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  struct text output = {0};
  cairn_vm* vm = create(&output);
  check(cairn_file_read(path, &bytes, &size, &error), "read", error);
  check(cairn_vm_restore(vm, bytes, size, &error), "restore", error);
  cairn_free(bytes);
  check(cairn_vm_run(vm, CAIRN_UNLIMITED), "run", NULL);
  cairn_vm_free(vm);
  return fwrite(output.bytes, 1, output.size, stdout) == output.size ? 0 : 1;
}

/* Starts this program again with the file as its argument; what it prints is added to `output`. */
static void move(const cairn_vm* vm, const char* program, struct text* output) {
  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  int ends[2], status = 0;
  check(cairn_vm_save(vm, &bytes, &size), "save", NULL);
  check(cairn_file_write(kCapsule, bytes, size, &error), "write", error);
  cairn_free(bytes);
  expect(pipe(ends) == 0, "pipe");
  pid_t child = fork();
  expect(child >= 0, "fork");
  if (child == 0) {
    expect(dup2(ends[1], STDOUT_FILENO) >= 0, "dup2");
    close(ends[0]);
    close(ends[1]);
    execl(program, program, kCapsule, (char*)NULL);
    perror(program);
    _exit(1);
  }
  close(ends[1]);
  ssize_t got = 0;
  while ((got = read(ends[0], output->bytes + output->size, sizeof output->bytes - output->size)) > 0)
    output->size += (size_t)got;
  close(ends[0]);
  expect(waitpid(child, &status, 0) == child && status == 0, "the second process");
  remove(kCapsule);
}

/* Runs until the guest is in the phase, and moves it there. */
static void migrate(const cairn_module* module, cairn_phase phase, const char* program, struct text* output) {
  cairn_progress progress = {0};
  cairn_vm* vm = load(module, output);
  do {
    expect(cairn_vm_run(vm, 50000) == CAIRN_OUT_OF_STEPS, "the guest ended before that phase");
    check(cairn_vm_progress(vm, &progress), "progress", NULL);
  } while (progress.phase != phase);
  move(vm, program, output);
  cairn_vm_free(vm);
}

int main(int argc, char** argv) {
  static const struct {
    cairn_phase phase;
    const char* name;
  } places[] = {{CAIRN_PHASE_PLAIN, "before the gradient"},
                {CAIRN_PHASE_FORWARD, "in its first run"},
                {CAIRN_PHASE_BACKWARD, "on its way back"}};
  if (argc == 2) return go_on(argv[1]);

  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  cairn_module* module = NULL;
  check(cairn_compile("orbit.scm", kSource, strlen(kSource), NULL, &bytes, &size, &error), "compile", error);
  check(cairn_module_read(bytes, size, &module, &error), "read", error);
  cairn_compiler_free(bytes);

  struct text whole = {0};
  cairn_vm* vm = load(module, &whole);
  check(cairn_vm_run(vm, CAIRN_UNLIMITED), "run", NULL);
  cairn_vm_free(vm);
  printf("%.*s", (int)whole.size, whole.bytes);
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    struct text both = {0};
    migrate(module, places[i].phase, argv[0], &both);
    int same = both.size == whole.size && memcmp(both.bytes, whole.bytes, whole.size) == 0;
    printf("moved %s: %s\n", places[i].name, same ? "the same" : "different");
  }
  cairn_module_free(module);
  return 0;
}

/* Prints:
value 0.6
gradient 0.1599999999999999
moved before the gradient: the same
moved in its first run: the same
moved on its way back: the same
*/
