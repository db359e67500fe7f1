/* A metered sandbox: a thousand guests that know nothing of each other take turns, ten thousand steps each, in one thread. Each
 * has its own budgets of memory, output and steps. Some of them behave badly, and none of the others notices. All figures it
 * prints are exact: they are the same on every machine.
 *
 *   cc -std=c11 sandbox.c -o sandbox $(pkg-config --cflags --libs cairn cairn_compiler) -lm -Wl,-rpath,$(pkg-config
 * --variable=libdir cairn) */
#include "cairn.h"
#include "cairn_compiler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUESTS = 1000, SLICE_STEPS = 10000, STEP_BUDGET = 200000, MEMORY_BUDGET = 1 << 20, OUTPUT_BUDGET = 1000 };

/* A guest reads its number, from 0, as its only input. */
static const struct program {
  const char* name;
  const char* source;
} programs[] = {
    {"sums", "(define (sum i n total) (if (= i n) total (sum (+ i 1) n (+ total (* i i)))))\n"
             "(write-real (sum 0 (* 10 (read-real)) 0))\n"},
    {"gradients", "(define n (+ 100 (read-real)))\n"
                  "(define (orbit r) (let loop ((i 0) (x 0.5)) (if (= i n) x (loop (+ i 1) (* r x (- 1 x))))))\n"
                  "(write-real (cdr (checkpoint-*j orbit 2.5 1)))\n"},
    {"never ends", "(define (forever i) (forever (+ i 1)))\n"
                   "(forever 0)\n"},
    {"lists of lists", "(define (bomb l) (bomb (cons l (list l l))))\n"
                       "(bomb '())\n"},
    {"talks on", "(define (talk i) (write i) (newline) (talk (+ i 1)))\n"
                 "(talk 0)\n"},
    {"error", "(define (second l) (car (cdr l)))\n"
              "(write (second (list (read-real))))\n"},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

struct guest {
  cairn_vm* vm;
  const struct program* program;
  char input[16]; /* what is left of its number */
  size_t input_bytes, input_read;
  char output[OUTPUT_BUDGET];
  size_t output_bytes;
};

/* What became of the guests of one program. */
struct tally {
  unsigned ended, cut_off, over_budget, errors;
  uint64_t output_bytes;
  cairn_failure* last_error;
};

/* Everything here is expected to work; where it does not, the program says so and ends. */
static void check(cairn_status status, const char* what, const char* error) {
  if (status == CAIRN_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, error == NULL ? "" : error);
  exit(1);
}

static int take_output(void* user, const char* text, size_t bytes) {
  struct guest* guest = user;
  if (bytes > sizeof guest->output - guest->output_bytes) return 1; /* the budget is less: it does not come to this */
  memcpy(guest->output + guest->output_bytes, text, bytes);
  guest->output_bytes += bytes;
  return 0;
}

static size_t give_input(void* user, char* buffer, size_t capacity) {
  struct guest* guest = user;
  size_t left = guest->input_bytes - guest->input_read;
  size_t bytes = left < capacity ? left : capacity;
  memcpy(buffer, guest->input + guest->input_read, bytes);
  guest->input_read += bytes;
  return bytes;
}

/* Once for each program, however many guests run it. */
static cairn_module* compile(const struct program* program) {
  void* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  cairn_module* module = NULL;
  check(cairn_compile(program->name, program->source, strlen(program->source), NULL, &bytes, &size, &error), "compile", error);
  check(cairn_module_read(bytes, size, &module, &error), "read", error);
  cairn_compiler_free(bytes);
  return module;
}

static void start(struct guest* guest, const struct program* program, const cairn_module* module, unsigned number) {
  cairn_vm_options options;
  char* error = NULL;
  guest->program = program;
  guest->input_bytes = (size_t)snprintf(guest->input, sizeof guest->input, "%u", number);
  cairn_vm_options_init(&options);
  options.memory_bytes = MEMORY_BUDGET;
  options.output_bytes = OUTPUT_BUDGET;
  options.output = take_output;
  options.input = give_input;
  options.user = guest;
  options.one_shot = 1; /* nobody calls into a guest later */
  check(cairn_vm_create(&options, &guest->vm, &error), "create", error);
  check(cairn_vm_load(guest->vm, module, &error), "load", error);
}

static void finish(struct guest* guest, cairn_status status, struct tally* tally) {
  tally->output_bytes += cairn_vm_output_bytes(guest->vm);
  if (status == CAIRN_OK)
    ++tally->ended;
  else if (status == CAIRN_OUT_OF_STEPS)
    ++tally->cut_off;
  else {
    ++*(status == CAIRN_OVER_BUDGET ? &tally->over_budget : &tally->errors);
    cairn_failure_free(tally->last_error);
    check(cairn_vm_failure(guest->vm, &tally->last_error), "failure", NULL);
  }
  cairn_vm_free(guest->vm);
  guest->vm = NULL;
}

/* A slice for every guest that still runs; how many do after it. */
static unsigned turn(struct guest* guests, struct tally* tallies) {
  unsigned running = 0;
  for (unsigned i = 0; i < GUESTS; ++i) {
    struct guest* guest = &guests[i];
    if (guest->vm == NULL) continue;
    cairn_status status = cairn_vm_run(guest->vm, SLICE_STEPS);
    if (status == CAIRN_OUT_OF_STEPS && cairn_vm_steps(guest->vm) < STEP_BUDGET)
      ++running;
    else
      finish(guest, status, &tallies[guest->program - programs]);
  }
  return running;
}

int main(void) {
  static struct guest guests[GUESTS];
  static struct tally tallies[PROGRAMS];
  cairn_module* modules[PROGRAMS];
  for (unsigned p = 0; p < PROGRAMS; ++p) modules[p] = compile(&programs[p]);
  for (unsigned i = 0; i < GUESTS; ++i) start(&guests[i], &programs[i % PROGRAMS], modules[i % PROGRAMS], i);
  for (unsigned p = 0; p < PROGRAMS; ++p) cairn_module_free(modules[p]); /* every machine has its own copy */

  unsigned turns = 1;
  while (turn(guests, tallies) != 0) ++turns;

  printf("%d guests, %u turns of %d steps\n", GUESTS, turns, SLICE_STEPS);
  for (unsigned p = 0; p < PROGRAMS; ++p) {
    const struct tally* t = &tallies[p];
    printf("%s: %u ended, %u cut off, %u over budget, %u errors, %" PRIu64 " bytes of output\n", programs[p].name, t->ended,
           t->cut_off, t->over_budget, t->errors, t->output_bytes);
    if (t->last_error != NULL) printf("  %u:%u: %s\n", t->last_error->line, t->last_error->column, t->last_error->message);
    cairn_failure_free(t->last_error);
  }
  const struct guest* witness = &guests[GUESTS - GUESTS % PROGRAMS]; /* the last one that sums */
  printf("guest %d wrote %.*s", (int)(witness - guests), (int)witness->output_bytes, witness->output);
  return 0;
}

/* Prints:
1000 guests, 20 turns of 10000 steps
sums: 167 ended, 0 cut off, 0 over budget, 0 errors, 1955 bytes of output
gradients: 167 ended, 0 cut off, 0 over budget, 0 errors, 3340 bytes of output
never ends: 0 ended, 167 cut off, 0 over budget, 0 errors, 0 bytes of output
lists of lists: 0 ended, 0 cut off, 167 over budget, 0 errors, 0 bytes of output
  1:32: memory budget of 1.0 MiB exceeded by a request of 32 bytes: heap 1.0 MiB, tape 0.0 MiB, capsules 0.0 MiB
talks on: 0 ended, 0 cut off, 166 over budget, 0 errors, 165668 bytes of output
  1:18: the program may write 1000 bytes and no more
error: 0 ended, 0 cut off, 0 over budget, 166 errors, 0 bytes of output
  1:20: car: expected a pair, got ()
guest 996 wrote 329299712860
*/
