/* Cairn's C interface: load bytecode, run it by counted steps, stop anywhere, save and restore; make and read values, call
 * procedures and differentiate them; give the program procedures of the host. docs/c-api.md explains it call by call, with
 * examples.
 *
 * Ownership, the one rule: every pointer a function gives you is yours to release once; every pointer you pass is borrowed for
 * the call (callbacks and their user pointer: as long as the vm lives). Handles are released by their own _free, values by
 * cairn_value_release, text and bytes by cairn_free; a _free of NULL does nothing. Text is UTF-8 and ends with a zero byte.
 * Threads: one thread at a time per handle; different handles are independent; only cairn_vm_cancel may be called at any time
 * from anywhere. Errors: a function that can fail returns a cairn_status; nothing is thrown, nothing aborts.
 * Where a function takes `char** error` it may be NULL; otherwise *error becomes a message (yours) on failure and NULL on
 * success. Other results are NULL or 0 on failure. */
#ifndef CAIRN_H
#define CAIRN_H

#include <stddef.h>
#include <stdint.h>

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0
/* Of the binary interface: a program built with one number runs with a library that says the same. */
#define CAIRN_ABI_VERSION 3
#define CAIRN_VERSION_NUMBER (CAIRN_VERSION_MAJOR * 1000000 + CAIRN_VERSION_MINOR * 1000 + CAIRN_VERSION_PATCH)

#if defined(_WIN32)
#define CAIRN_API
#else
#define CAIRN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, code, text): every status there is. The codes never change their meaning; new ones are added at the end. */
#define CAIRN_STATUS_TABLE(X)                                                                                                    \
  X(OK, 0, "done")                                                                                                               \
  X(OUT_OF_STEPS, 1, "stopped: the step budget is used up")                                                                      \
  X(PROGRAM_ERROR, 2, "an error in the program")                                                                                 \
  X(OVER_BUDGET, 3, "a budget is exceeded: of memory or output")                                                                 \
  X(BAD_SOURCE, 4, "the source text does not compile")                                                                           \
  X(BAD_MODULE, 5, "no sound bytecode module of this version")                                                                   \
  X(BAD_CAPSULE, 6, "no sound capsule file of this version")                                                                     \
  X(BAD_ARGUMENT, 7, "a call with an argument that makes no sense, or at the wrong time")                                        \
  X(NO_FILE, 8, "a file cannot be read or written")                                                                              \
  X(OUT_OF_MEMORY, 9, "the system gave no memory")                                                                               \
  X(INTERNAL, 10, "a fault inside Cairn")                                                                                        \
  X(CANCELLED, 11, "stopped by cairn_vm_cancel")                                                                                 \
  X(NOT_DEFINED, 12, "the program defines no such name, or not yet")                                                             \
  X(WRONG_KIND, 13, "a value of another kind than was asked for")                                                                \
  X(OUT_OF_WORK, 14, "stopped: the work budget does not hold the next step")

typedef enum cairn_status {
#define CAIRN_STATUS_ENTRY(name, code, text) CAIRN_##name = code,
  CAIRN_STATUS_TABLE(CAIRN_STATUS_ENTRY)
#undef CAIRN_STATUS_ENTRY
      CAIRN_STATUS_LARGEST = 0x7fffffff
} cairn_status;

typedef struct cairn_module cairn_module;   /* a bytecode module; immutable */
typedef struct cairn_vm cairn_vm;           /* one machine and the program it runs */
typedef struct cairn_capsule cairn_capsule; /* a stopped machine, immutable, to be continued any number of times */

/* The version of the library that runs, as CAIRN_VERSION_NUMBER is that of the header: 1 000 000 * major + 1 000 * minor + patch.
 */
CAIRN_API int cairn_version(void);
CAIRN_API int cairn_abi_version(void);

/* The text of a status, from the table above; of any other number "unknown status". NULL only without memory. */
CAIRN_API char* cairn_status_text(cairn_status status);

/* Releases text or bytes that a function of this header gave. */
CAIRN_API void cairn_free(void* text_or_bytes);

/* ---- files ---- */

/* The whole file. NO_FILE: the message says why. */
CAIRN_API cairn_status cairn_file_read(const char* path, void** bytes, size_t* size, char** error);

/* Replaces the file in one go (a new file beside it, fsync, rename, fsync of the folder): after a crash or a failure there is the
 * old one or the new one, and OK means that the new one is on the disk. It keeps the permissions of the old one; what a symbolic
 * link points to is replaced, and the link stays. Pipes and devices are written as they are. NO_FILE: the message says why, and
 * whether the old file is there still. */
CAIRN_API cairn_status cairn_file_write(const char* path, const void* bytes, size_t size, char** error);

/* Makes length and checksum of a damaged module or capsule right again, in place, so that tests reach what checks the rest.
 * BAD_ARGUMENT: it is neither. */
CAIRN_API cairn_status cairn_reseal(void* bytes, size_t size, char** error);

/* ---- modules ---- */

/* Reads a .bc file's bytes and verifies what they hold. BAD_MODULE: damaged, of another version, or unsound. The extensions that
 * a cairn_session makes are modules too; they are verified when a machine takes them. */
CAIRN_API cairn_status cairn_module_read(const void* bytes, size_t size, cairn_module** module, char** error);

/* The bytes of a .bc file. */
CAIRN_API cairn_status cairn_module_write(const cairn_module* module, void** bytes, size_t* size);

/* Readable, stable text of the instructions, with source lines where they are known. BAD_ARGUMENT: it is an extension, whose
 * instructions name what is not in it. */
CAIRN_API cairn_status cairn_module_disassemble(const cairn_module* module, char** text);

/* The name of definition `index` of the module, from 0, in no particular order; NULL behind the last one. Those that the
 * compiler did not keep are named too; cairn_vm_lookup does not find them. */
CAIRN_API char* cairn_module_definition(const cairn_module* module, size_t index);

/* The name of the procedure of the host that the module, or an extension beyond others, needs, from 0, and how many arguments it
 * is called with (`parameters` may be NULL); NULL behind the last one. */
CAIRN_API char* cairn_module_import(const cairn_module* module, size_t index, unsigned* parameters);

CAIRN_API void cairn_module_free(cairn_module* module);

/* ---- machines ---- */

#define CAIRN_UNLIMITED UINT64_MAX

/* Writes `bytes` bytes of the program's output; returns 0, or anything else when they could not be written: then the program ends
 * with an error at the place that wrote. Called from cairn_vm_run only. */
typedef int (*cairn_write_function)(void* user, const char* text, size_t bytes);

/* Fills `buffer` with at most `capacity` bytes of input; returns how many, 0 at the end of input, or SIZE_MAX when reading
 * failed: then the program ends with an error. Called from cairn_vm_run only. */
typedef size_t (*cairn_read_function)(void* user, char* buffer, size_t capacity);

/* A number that the program reports under a name, by `report`. Both are borrowed for the call. */
typedef struct cairn_reported {
  const char* name; /* UTF-8, 1 to 200 bytes without control characters */
  double value;
} cairn_reported;

/* Takes what one call of `report` tells, 1 to 64 values of different names. Returns 0, or anything else to end the program with
 * an error at the place that reported. Called from cairn_vm_run only, once for each report: not where a schedule replays one.
 * Meanwhile cairn_vm_reports gives the number of the report, the first one's is 1, and cairn_vm_steps, cairn_vm_memory and
 * cairn_vm_progress say where the machine stands. */
typedef int (*cairn_report_function)(void* user, const cairn_reported* values, size_t count);

/* Memory for a machine: `bytes` bytes at a multiple of `alignment`, NULL if there is none. It gives what grows with a program:
 * regions of objects and frames, large objects, records of tapes; tables beside them come from malloc. One thread at a time, as
 * the machine. */
typedef struct cairn_allocator {
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
  void* user;
} cairn_allocator;

typedef struct cairn_vm_options {
  size_t struct_size;    /* set by cairn_vm_options_init */
  uint64_t memory_bytes; /* budget of accounted memory; 0: cairn_default_memory(); CAIRN_UNLIMITED: none */
  uint64_t output_bytes; /* budget of output: the program ends with OVER_BUDGET before it writes more; CAIRN_UNLIMITED: none */
  uint64_t seed;         /* of the random numbers of the program; a restored machine keeps its own */
  const char*
      schedule;      /* of checkpoint-*j: "auto", "binomial,snapshots=8", ...; NULL: "auto"; a restored machine keeps its own */
  const char* costs; /* a table of costs for plans, as `vmrun --calibrate` writes it: lines "NAME NANOSECONDS", names as
                        cairn_vm_costs has them, what is not named as built in (docs/memory.md, "What time is"); NULL: the
                        built-in one; a restored machine keeps its own */
  const char* spill; /* a folder for a file without a name, to which what a planned gradient has put aside goes where that is
                        faster than computing it again; NULL: none. What a restored machine has put aside goes there too. */
  uint64_t spill_bytes; /* that the file may take; 0: three quarters of what is free there; a restored machine keeps its own */
  const char* device;   /* of tensors that name none: NULL, "cpu",
                           "emulated[:N][,memory=SIZE][,bandwidth=SIZE][,host=SIZE][,disk=FOLDER]",
                           "cuda[:N][,memory=SIZE][,host=SIZE][,disk=FOLDER]"; behind semicolons others that programs may name */
  const char* const* arguments; /* (command-line); a restored machine keeps its own */
  size_t argument_count;
  cairn_write_function output;      /* the program's output; NULL: dropped */
  cairn_read_function input;        /* the program's input; NULL: empty */
  cairn_report_function report;     /* what the program reports; NULL: dropped */
  cairn_write_function explain;     /* an explanation of each outermost checkpoint-*j; NULL: none. Its result is ignored. */
  void* user;                       /* first argument of the four, and what cairn_vm_user gives */
  const cairn_allocator* allocator; /* copied; NULL: the system's memory */
  int one_shot;      /* not 0: what the program defined goes when it ends; then nothing can be looked up, called or added */
  int check_nan;     /* not 0: the first NaN, of a tensor's elements or of arithmetic, is an error with operator and place */
  int profile;       /* not 0: count steps, time and bytes by place for cairn_vm_profile; the machine runs several times slower */
  const char* lossy; /* what tapes may keep with an error: "none", "relative=1e-2", ... (docs/forms.md); NULL: "none"; a restored
                        machine keeps its own */
  const char* spill_encoding; /* of the elements that go to the file of `spill`, without loss: "auto", where that is faster by the
                                 table of costs, "always", wherever they become fewer bytes, "never"; NULL: "auto" */
} cairn_vm_options;

/* Fills in the defaults. Call it first, then set what differs. */
CAIRN_API void cairn_vm_options_init(cairn_vm_options* options);

/* Three quarters of the memory that the machine or the control group of this process (version 1 or 2) has, in bytes. */
CAIRN_API uint64_t cairn_default_memory(void);

/* A machine without a program. `options` may be NULL. BAD_ARGUMENT: the schedule, the policy of tapes (`lossy`), the table of
 * costs or `spill_encoding` is malformed (the message says what would be right), the folder `spill` is not there or cannot be
 * written, no such device, or struct_size was not set. */
CAIRN_API cairn_status cairn_vm_create(const cairn_vm_options* options, cairn_vm** vm, char** error);

/* The table of costs that the machine's plans are made with, as text that the option takes, each line with what takes so many
 * nanoseconds; to be released by cairn_free. */
CAIRN_API cairn_status cairn_vm_costs(const cairn_vm* vm, char** text);

/* The user pointer of the options; for callbacks. */
CAIRN_API void* cairn_vm_user(const cairn_vm* vm);

/* Gives a machine its program, once: from a module (the machine keeps a copy), or from the bytes of a capsule file, which hold a
 * module and a state to continue from. OVER_BUDGET: the budget does not even hold the program; BAD_MODULE: it needs a procedure
 * of the host that was not registered; BAD_ARGUMENT: there is a program already. A capsule may also be restored into a machine
 * that was loaded with the capsule's own module and has not run; BAD_CAPSULE if it belongs to another one. */
CAIRN_API cairn_status cairn_vm_load(cairn_vm* vm, const cairn_module* module, char** error);
CAIRN_API cairn_status cairn_vm_restore(cairn_vm* vm, const void* bytes, size_t size, char** error);
/* The same from a file, whose bytes are never all in memory; NO_FILE: it cannot be read. */
CAIRN_API cairn_status cairn_vm_restore_file(cairn_vm* vm, const char* path, char** error);

/* Gives an idle machine (its program or call has ended, or failed) the next module of a cairn_session: what is defined stays, and
 * the module's top level is ready to run. That is an extension of what the machine has, which costs what is in it, or a whole
 * module that begins with it. An empty machine takes any whole module. BAD_MODULE: it is unsound, or continues something else.
 * After any failure the machine is as before; cairn_session_undo lets the session follow. */
CAIRN_API cairn_status cairn_vm_extend(cairn_vm* vm, const cairn_module* module, char** error);

/* Runs at most `steps` steps from where the machine stands (CAIRN_UNLIMITED: to the end). OK: the program or call has ended;
 * OUT_OF_STEPS: exactly `steps` steps were made; CANCELLED: fewer, for cairn_vm_cancel; OUT_OF_WORK: fewer, for
 * cairn_vm_limit_work; call again to go on after all three. Of the step before which the last two stop nothing has happened.
 * PROGRAM_ERROR, OVER_BUDGET: it cannot go on, cairn_vm_error says why; definitions stay. BAD_ARGUMENT: nothing to run. */
CAIRN_API cairn_status cairn_vm_run(cairn_vm* vm, uint64_t steps);

/* What a machine may do with files: nothing, until its host grants it. */
#define CAIRN_GRANT_READ 1u
#define CAIRN_GRANT_WRITE 2u

/* From now on the program may read or write (`rights`: CAIRN_GRANT_READ, CAIRN_GRANT_WRITE or both) the file `path`, or what is
 * beneath the folder `path`, links that lead out of it excepted. Programs name files by absolute paths, or beneath the folder
 * that was current when this was first called. No part of the state: a restored machine is granted anew. NO_FILE: there is no
 * such folder, or none for such a file. */
CAIRN_API cairn_status cairn_vm_grant(cairn_vm* vm, unsigned rights, const char* path, char** error);

/* The host writes the file `path` itself, which need not be there yet: the program may not, by whatever name or link it comes to
 * it, whatever else is granted. `holder` says in the message what the file is for ("--output"). No part of the state. NO_FILE:
 * there is no folder for such a file. */
CAIRN_API cairn_status cairn_vm_reserve(cairn_vm* vm, const char* path, const char* holder, char** error);

/* From now on at most so much more work: a run stops with OUT_OF_WORK before the step that would take more, and can go on, be
 * saved or be given up like one that is out of steps. Work is what steps take that are not all alike: modelled flops and bytes of
 * operations on tensors, bytes of text, of vectors and of structures that are copied (docs/language.md has the table).
 * CAIRN_UNLIMITED, as in the beginning: no limit. */
CAIRN_API void cairn_vm_limit_work(cairn_vm* vm, uint64_t work);

/* Work since the program began, calls and that before a restore included: a count like that of steps, the same on every device.
 */
CAIRN_API uint64_t cairn_vm_work(const cairn_vm* vm);

/* The place, "FILE:LINE:COLUMN", of the first update of parameters (`*j-update` and its kin) that this machine has completed and
 * in which no leaf had a cotangent: its value depends on none of them, which a program may mean and seldom does. *place is NULL:
 * there was none. */
CAIRN_API cairn_status cairn_vm_unreached(const cairn_vm* vm, char** place);

/* What the machine's device does otherwise than was asked, so far, and why: it locks less memory. Results are the same. NULL:
 * nothing. Free the text with cairn_free. */
CAIRN_API cairn_status cairn_vm_device_warning(const cairn_vm* vm, char** text);

/* After OUT_OF_WORK: the least that the next step takes. */
CAIRN_API uint64_t cairn_vm_work_needed(const cairn_vm* vm);

/* Makes the cairn_vm_run in progress, or if there is none the next one, return CANCELLED: within 50 ms where a processor has
 * nothing else to do, a few for most steps (docs/c-api.md has what may take longer), also in the middle of a long step, which
 * will be done again. For other threads and signal handlers; the machine must not be freed meanwhile. */
CAIRN_API void cairn_vm_cancel(cairn_vm* vm);

/* Gives up a program or call that was stopped, or has not begun to run; definitions stay, and the machine is idle. BAD_ARGUMENT:
 * there is none. */
CAIRN_API cairn_status cairn_vm_abandon(cairn_vm* vm);

/* After PROGRAM_ERROR and OVER_BUDGET: "FILE:LINE:COLUMN: error: ...", the line with a caret, the call chain. */
CAIRN_API cairn_status cairn_vm_error(const cairn_vm* vm, char** text);

/* The same in parts. Places are "FILE:LINE:COLUMN", perhaps empty; line and column count from 1, 0 where unknown. */
typedef struct cairn_call_site {
  const char* procedure;
  const char* place;
} cairn_call_site;
typedef struct cairn_failure {
  cairn_status status;
  const char* message; /* without place */
  const char* file;    /* "" where unknown */
  unsigned line, column;
  size_t call_count;
  const cairn_call_site* calls; /* innermost first; what tail calls replaced is not there */
} cairn_failure;
CAIRN_API cairn_status cairn_vm_failure(const cairn_vm* vm, cairn_failure** failure);
CAIRN_API void cairn_failure_free(cairn_failure* failure);

/* After OK: the value of the program's last form, or of the call, as `write` prints it. The text is charged to the machine while
 * it is made (OVER_BUDGET; CANCELLED as saving is), and yours then. */
CAIRN_API cairn_status cairn_vm_result(const cairn_vm* vm, char** text);

/* Steps since the program began, calls and those before a restore included. 0 without a program. */
CAIRN_API uint64_t cairn_vm_steps(const cairn_vm* vm);

/* Random numbers that the program has drawn: together with the seed, all that the next ones depend on. An idle machine may be
 * given another number, so that a call draws what an earlier one drew; BAD_ARGUMENT: it is not idle. */
CAIRN_API uint64_t cairn_vm_draws(const cairn_vm* vm);
CAIRN_API cairn_status cairn_vm_set_draws(cairn_vm* vm, uint64_t draws);

/* Bytes of output since the program began, those before a restore included. */
CAIRN_API uint64_t cairn_vm_output_bytes(const cairn_vm* vm);

/* Bytes that the input function has given since the program began, those before a restore included; what was not used yet is in
 * the machine. The input function of a restored machine goes on behind them. */
CAIRN_API uint64_t cairn_vm_input_bytes(const cairn_vm* vm);

/* Calls of `report` since the program began, those before a restore included. */
CAIRN_API uint64_t cairn_vm_reports(const cairn_vm* vm);

/* Bytes in the machine's accounts: what they hold now. */
typedef struct cairn_memory {
  uint64_t budget; /* of all accounts together; CAIRN_UNLIMITED: none */
  uint64_t all;    /* the sum of those below */
  uint64_t objects, tapes, capsules, tensors, scratch;
} cairn_memory;
CAIRN_API cairn_status cairn_vm_memory(const cairn_vm* vm, cairn_memory* memory);

/* Counters as one line of JSON without newline; docs/c-api.md lists the keys. `wall_s`, `rss_peak_bytes` and `scratch_peak_bytes`
 * are of this process, all others are part of the state and continue across a restore. */
CAIRN_API cairn_status cairn_vm_statistics(const cairn_vm* vm, char** json);

/* How far a stopped machine is. Of the outermost checkpoint-*j in progress: */
typedef enum cairn_phase {
  CAIRN_PHASE_PLAIN = 0,   /* there is none */
  CAIRN_PHASE_FORWARD = 1, /* its first run: the length is not known yet */
  CAIRN_PHASE_BACKWARD = 2 /* replays and sweeps */
} cairn_phase;
typedef struct cairn_progress {
  uint64_t steps; /* as cairn_vm_steps */
  cairn_phase phase;
  uint64_t gradient_steps;           /* of the differentiated run; 0 while unknown */
  uint64_t gradient_steps_executed;  /* advanced and taped so far */
  uint64_t gradient_steps_predicted; /* what that will be in the end; 0 while unknown */
} cairn_progress;
CAIRN_API cairn_status cairn_vm_progress(const cairn_vm* vm, cairn_progress* progress);

/* The instruction that the next step executes: "PLACE  PROCEDURE  INSTRUCTION". For tracing by cairn_vm_run(vm, 1). BAD_ARGUMENT:
 * nothing to run. */
CAIRN_API cairn_status cairn_vm_instruction(const cairn_vm* vm, char** text);

/* Where a program that has not ended stands: "FILE:LINE:COLUMN: stopped: after N steps", the line with a caret, and the chain of
 * calls. BAD_ARGUMENT: nothing to run. */
CAIRN_API cairn_status cairn_vm_where(const cairn_vm* vm, char** text);

/* ---- what a device did, in its virtual time ---- */
typedef enum cairn_trace_kind {
  CAIRN_TRACE_KERNEL = 0, /* an operator that has run on a stream */
  CAIRN_TRACE_COPY = 1,   /* elements that were copied between memories, on a stream or the disk */
  CAIRN_TRACE_MEMORY = 2, /* bytes in use of a memory, as the account says when the kernel was queued that begins then */
  CAIRN_TRACE_MOMENT = 3, /* a call that begins, a run that leaves its plan */
  CAIRN_TRACE_LARGEST = 0x7fffffff
} cairn_trace_kind;

/* Everything is borrowed for the call. The library may add fields at the end. */
typedef struct cairn_trace_event {
  cairn_trace_kind kind;
  const char* track;   /* of a kernel or copy: "execute", "copy_in", "copy_out", "update", "disk"; of a memory: "device", "host",
                          "disk"; NULL for a moment */
  const char* name;    /* of the operator; of a copy, that of the operator that made the elements, or "elements" if the host did;
                          what    a moment is; NULL for a memory */
  uint64_t begin, end; /* picoseconds of virtual time */
  uint64_t bytes;      /* that a kernel is modelled to move; copied; in use */
  double flops;        /* that a kernel is modelled to need, products of matrices and convolutions included; else 0 */
  const char* shapes;  /* of a kernel: "f32 (64 256), f32 (256 10) -> f32 (64 10)"; else NULL */
  const char* reason;  /* of a copy; else NULL */
  const char* place;   /* of a kernel: "PROCEDURE at FILE:LINE:COLUMN" of the instruction behind it; of a copy: of that which made
                          the   elements; NULL where there is none, as in reverse sweeps */
} cairn_trace_event;
typedef void (*cairn_trace_function)(void* user, const cairn_trace_event* event);

/* From now on `function` gets what the device of the machine does, in the order in which it is queued; times of one stream never
 * overlap. It may use no function of the machine. What is computed, and the device's time, are as without it. BAD_ARGUMENT: the
 * device models no time, or the machine runs. */
CAIRN_API cairn_status cairn_vm_trace(cairn_vm* vm, cairn_trace_function function, void* user, char** error);

/* ---- what a gradient, an outermost checkpoint-*j, did: with what schedule, how often steps were run, what memory it took, and
 * who held that. That they are explained changes no result, no step and no budget. docs/tools.md explains the forms. ---- */
typedef enum cairn_report {
  CAIRN_REPORT_TEXT = 0, /* lines for a terminal; calls from one place are summed up after the first three */
  CAIRN_REPORT_JSON = 1, /* of each gradient an object without line breaks */
  CAIRN_REPORT_HTML = 2, /* a page with drawings, which needs no other file */
  CAIRN_REPORT_PROFILE =
      3, /* text, with the intervals that a plan was made of: what each costs, and what its tape and state weigh */
  CAIRN_REPORT_SECTION = 4, /* what is in that page, as an HTML element with a style of its own, for a page of the host's */
  CAIRN_REPORT_LARGEST = 0x7fffffff
} cairn_report;

/* In what form the option `explain` gets its texts from now on: TEXT, as in the beginning, PROFILE or JSON. BAD_ARGUMENT:
 * another form, or the machine was made without `explain`. */
CAIRN_API cairn_status cairn_vm_explain_as(cairn_vm* vm, cairn_report form);

/* The first outermost checkpoint-*j that begins from now on is run forward only, within a small part of the memory that its
 * gradient takes. The option `explain` gets a table, as text: budgets of memory, and the time that the gradient would take within
 * each. The run then returns CANCELLED, however often it is run again. BAD_ARGUMENT: the machine was made without `explain`, or
 * it runs. */
CAIRN_API cairn_status cairn_vm_only_plan(cairn_vm* vm);

/* From now on facts about gradients are kept for cairn_vm_gradients: of each place in the program the first three, 32 in all, and
 * sums over all calls, some 20 MB at most, which are not charged to the machine. */
CAIRN_API cairn_status cairn_vm_keep_gradients(cairn_vm* vm);

/* All that was kept, as JSON, HTML or SECTION, and one that is in progress or was stopped by an error. BAD_ARGUMENT: nothing was
 * to be kept, the machine runs, or another form. */
CAIRN_API cairn_status cairn_vm_gradients(const cairn_vm* vm, cairn_report form, char** text);

/* Forgets the facts that were kept, of a gradient in progress too; cairn_vm_keep_gradients goes on to hold. So a host that asks
 * after each call is told of that one alone. */
CAIRN_API cairn_status cairn_vm_forget_gradients(cairn_vm* vm);

/* With the option `profile`: tables of steps, time and bytes by procedure and by line, as text. */
CAIRN_API cairn_status cairn_vm_profile(const cairn_vm* vm, char** text);

CAIRN_API void cairn_vm_free(cairn_vm* vm);

/* ---- capsules ---- */

/* The state of a machine before its first step, or after OUT_OF_STEPS, OUT_OF_WORK and CANCELLED; BAD_ARGUMENT at other times. A
 * capsule knows no machine: it may be handed to other threads and continued by any number of machines. Memory: its bytes, and the
 * tables that it takes to make them, are charged to the machine until the call ends (OVER_BUDGET); from then on the bytes are
 * yours and counted nowhere. CANCELLED: by a cairn_vm_cancel that came meanwhile. The three that follow from a machine's state
 * (this, cairn_vm_save, cairn_vm_save_file) leave it as it was, whatever they return. */
CAIRN_API cairn_status cairn_vm_capsule(const cairn_vm* vm, cairn_capsule** capsule);

/* As cairn_vm_restore does with bytes. */
CAIRN_API cairn_status cairn_vm_resume(cairn_vm* vm, const cairn_capsule* capsule, char** error);

/* The bytes of a capsule file, and back. cairn_capsule_read looks at the beginning and the checksum only: all else is checked
 * when a machine resumes it. */
CAIRN_API cairn_status cairn_capsule_write(const cairn_capsule* capsule, void** bytes, size_t* size);
CAIRN_API cairn_status cairn_capsule_read(const void* bytes, size_t size, cairn_capsule** capsule, char** error);

CAIRN_API void cairn_capsule_free(cairn_capsule* capsule);

/* The bytes of a capsule file at once. They are charged as those of cairn_vm_capsule are. */
CAIRN_API cairn_status cairn_vm_save(const cairn_vm* vm, void** bytes, size_t* size);

/* Replaces a file by the state's, as cairn_file_write does. The bytes go to the file as they are made and are never all in
 * memory: tables alone are charged, at most a quarter of what the machine's objects take. */
CAIRN_API cairn_status cairn_vm_save_file(const cairn_vm* vm, const char* path, char** error);

/* ---- values ---- */

/* A value of one machine. Numbers, booleans, characters and the empty list need no release; all others that a function gives are
 * yours to release once. Copying the struct copies no reference. What the host makes is a constant to derivatives until it is
 * their x. */
typedef struct cairn_value {
  uint64_t bits; /* of no meaning outside */
} cairn_value;

#define CAIRN_KIND_TABLE(X)                                                                                                      \
  X(UNSPECIFIED, 0)                                                                                                              \
  X(NULL, 1)                                                                                                                     \
  X(BOOLEAN, 2)                                                                                                                  \
  X(INTEGER, 3)                                                                                                                  \
  X(REAL, 4)                                                                                                                     \
  X(CHARACTER, 5)                                                                                                                \
  X(STRING, 6)                                                                                                                   \
  X(SYMBOL, 7)                                                                                                                   \
  X(PAIR, 8)                                                                                                                     \
  X(VECTOR, 9)                                                                                                                   \
  X(PROCEDURE, 10)                                                                                                               \
  X(CAPSULE, 11)                                                                                                                 \
  X(TENSOR, 12)
typedef enum cairn_kind {
#define CAIRN_KIND_ENTRY(name, code) CAIRN_KIND_##name = code,
  CAIRN_KIND_TABLE(CAIRN_KIND_ENTRY)
#undef CAIRN_KIND_ENTRY
      CAIRN_KIND_LARGEST = 0x7fffffff
} cairn_kind;
CAIRN_API cairn_kind cairn_value_kind(cairn_value value);

CAIRN_API cairn_value cairn_unspecified(void);
CAIRN_API cairn_value cairn_null(void);
CAIRN_API cairn_value cairn_boolean(int truth);
CAIRN_API cairn_value cairn_real(double number);
/* An exact integer; beyond 48 bits a real, as in the language. */
CAIRN_API cairn_value cairn_integer(int64_t number);
/* Unspecified if it is no code point of Unicode. */
CAIRN_API cairn_value cairn_character(uint32_t code_point);

/* Values on the machine's heap. Their parts are borrowed. OVER_BUDGET; BAD_ARGUMENT: not UTF-8. */
CAIRN_API cairn_status cairn_make_string(cairn_vm* vm, const char* text, size_t bytes, cairn_value* value);
CAIRN_API cairn_status cairn_make_symbol(cairn_vm* vm, const char* text, size_t bytes, cairn_value* value);
CAIRN_API cairn_status cairn_make_pair(cairn_vm* vm, cairn_value car, cairn_value cdr, cairn_value* value);
CAIRN_API cairn_status cairn_make_list(cairn_vm* vm, const cairn_value* items, size_t count, cairn_value* value);
CAIRN_API cairn_status cairn_make_vector(cairn_vm* vm, const cairn_value* items, size_t count, cairn_value* value);
CAIRN_API cairn_status cairn_make_reals(cairn_vm* vm, const double* numbers, size_t count, cairn_value* vector);

/* What a value holds; WRONG_KIND leaves the result alone. cairn_get_real takes integers too; cairn_get_integer takes reals that
 * are whole. Parts of pairs and vectors are yours to release. */
CAIRN_API cairn_status cairn_get_boolean(cairn_value value, int* truth);
CAIRN_API cairn_status cairn_get_real(cairn_value value, double* number);
CAIRN_API cairn_status cairn_get_integer(cairn_value value, int64_t* number);
CAIRN_API cairn_status cairn_get_character(cairn_value value, uint32_t* code_point);
/* Of a string or symbol; `bytes` may be NULL. */
CAIRN_API cairn_status cairn_get_text(cairn_value value, char** text, size_t* bytes);
CAIRN_API cairn_status cairn_get_pair(cairn_value value, cairn_value* car, cairn_value* cdr);
/* Elements of a vector or proper list, code points of a string. */
CAIRN_API cairn_status cairn_get_length(cairn_value value, size_t* length);
/* Of a vector; BAD_ARGUMENT beyond its end. */
CAIRN_API cairn_status cairn_get_item(cairn_value vector, size_t index, cairn_value* item);
/* The numbers of a vector or proper list, at most `capacity`; *count is how many it has. */
CAIRN_API cairn_status cairn_get_reals(cairn_value value, double* numbers, size_t capacity, size_t* count);
/* Of a capsule of the language, as (interrupt f x n) gives: steps made, and whether it is finished. */
CAIRN_API cairn_status cairn_get_capsule(cairn_value value, uint64_t* steps, int* finished);

/* ---- tensors ---- */

/* Types of elements: a name, its number, the C type that holds one, its name in programs. */
#define CAIRN_ELEMENT_TABLE(X)                                                                                                   \
  X(U8, 0, uint8_t, "u8")                                                                                                        \
  X(I8, 1, int8_t, "i8")                                                                                                         \
  X(I16, 2, int16_t, "i16")                                                                                                      \
  X(I32, 3, int32_t, "i32")                                                                                                      \
  X(I64, 4, int64_t, "i64")                                                                                                      \
  X(F32, 5, float, "f32")                                                                                                        \
  X(F64, 6, double, "f64")                                                                                                       \
  X(BF16, 7, uint16_t, "bf16")
typedef enum cairn_element {
#define CAIRN_ELEMENT_ENTRY(name, number, type, text) CAIRN_##name = number,
  CAIRN_ELEMENT_TABLE(CAIRN_ELEMENT_ENTRY)
#undef CAIRN_ELEMENT_ENTRY
      CAIRN_ELEMENT_LARGEST = 0x7fffffff
} cairn_element;
#define CAIRN_MOST_AXES 8

/* A copy of elements in row-major order, on the machine's device. `sizes` has `axes` entries. OVER_BUDGET; BAD_ARGUMENT: more
 * than CAIRN_MOST_AXES, a negative size, more elements than can be counted. */
CAIRN_API cairn_status cairn_make_tensor(cairn_vm* vm, cairn_element element, const int64_t* sizes, size_t axes,
                                         const void* elements, cairn_value* tensor);
/* Type and shape; `sizes` has room for CAIRN_MOST_AXES. Any of the three may be NULL. */
CAIRN_API cairn_status cairn_get_tensor(cairn_value tensor, cairn_element* element, int64_t* sizes, size_t* axes);
/* The elements in row-major order, `bytes` in all; waits for them. BAD_ARGUMENT: not so many bytes. */
CAIRN_API cairn_status cairn_read_tensor(cairn_vm* vm, cairn_value tensor, void* elements, size_t bytes);

/* Exchange with other libraries by DLPack (dlpack.h of version 0.6 and later declares the struct). Tensors of the processor are
 * shared, not copied: nobody may write them.
 * Out: yours to release by its deleter, in the machine's thread and before the machine is freed. Tensors of other devices are
 * copied into the processor's memory first.
 * In: the machine takes the struct over and calls its deleter when no value refers to it any more, at the latest when it is
 * freed; if it is refused, it stays yours. BAD_ARGUMENT: not in the memory of the processor, or of a type or shape that Cairn
 * does not have. */
struct DLManagedTensor;
CAIRN_API cairn_status cairn_tensor_to_dlpack(cairn_vm* vm, cairn_value tensor, struct DLManagedTensor** managed);
/* Out, for good: on success the machine takes your reference to `tensor`, and its elements are the struct's alone, which may
 * write them. They are copied only if something else refers to them (another value, a view, memory of the host's). The same holds
 * for the release of the struct. */
CAIRN_API cairn_status cairn_tensor_take(cairn_vm* vm, cairn_value tensor, struct DLManagedTensor** managed);
CAIRN_API cairn_status cairn_tensor_from_dlpack(cairn_vm* vm, struct DLManagedTensor* managed, cairn_value* tensor);

/* As `write` prints it; at most about `most` bytes, "..." where it is cut; 0: all. Charged as that of cairn_vm_result. */
CAIRN_API cairn_status cairn_value_text(const cairn_vm* vm, cairn_value value, size_t most, char** text);

CAIRN_API void cairn_value_retain(cairn_value value);
CAIRN_API void cairn_value_release(cairn_vm* vm, cairn_value value);

/* ---- calls and derivatives ---- */

/* The value of a definition of the program, or one of the language's operators (j*, *j, checkpoint-*j, primops, interrupt,
 * resume, with-schedule), which are procedures like any other. NOT_DEFINED: there is none, it has not run, or the compiler did
 * not keep it (cairn_compiler_options.exports keeps all). */
CAIRN_API cairn_status cairn_vm_lookup(cairn_vm* vm, const char* name, cairn_value* value);

/* Gives the name that a text of a cairn_session has defined, by something else than a procedure, another value (borrowed) in an
 * idle machine. NOT_DEFINED: there is none, or it has not run. BAD_ARGUMENT: the machine is not idle. */
CAIRN_API cairn_status cairn_vm_define(cairn_vm* vm, const char* name, cairn_value value);

/* Prepares an idle machine to call a procedure: cairn_vm_run runs it, in as many slices as you like, then cairn_vm_value has its
 * value. PROGRAM_ERROR: it is no procedure or takes another number of arguments. BAD_ARGUMENT: the machine is not idle. */
CAIRN_API cairn_status cairn_vm_begin(cairn_vm* vm, cairn_value procedure, const cairn_value* arguments, size_t count);

/* The same for (j* f x tangent), (*j f x cotangent) and (checkpoint-*j f x cotangent): the value is the pair of (f x) and the
 * tangent, or the cotangent of x. `schedule` is a spec as in the options; NULL: the one in force. */
CAIRN_API cairn_status cairn_vm_begin_forward(cairn_vm* vm, cairn_value f, cairn_value x, cairn_value tangent);
CAIRN_API cairn_status cairn_vm_begin_reverse(cairn_vm* vm, cairn_value f, cairn_value x, cairn_value cotangent);
CAIRN_API cairn_status cairn_vm_begin_checkpoint_reverse(cairn_vm* vm, cairn_value f, cairn_value x, cairn_value cotangent,
                                                         const char* schedule);

/* After OK: the value itself. */
CAIRN_API cairn_status cairn_vm_value(const cairn_vm* vm, cairn_value* value);

/* The same, but the machine keeps no reference of its own: afterwards it has the unspecified value in its place. What nothing
 * else refers to is then the host's alone. */
CAIRN_API cairn_status cairn_vm_take_value(cairn_vm* vm, cairn_value* value);

/* Begin, run to the end, value. */
CAIRN_API cairn_status cairn_vm_call(cairn_vm* vm, cairn_value procedure, const cairn_value* arguments, size_t count,
                                     cairn_value* value);

/* ---- procedures of the host ---- */

/* What a program calls by a name that cairn_compiler_options.hosts declares. `arguments` are borrowed and without derivatives;
 * *value is the result, data without procedures and capsules, taken over. Anything but OK ends the program with an error at the
 * call, which cairn_host_complain may explain. It may make and read values; it must not run, save or free the machine. */
typedef cairn_status (*cairn_host_function)(void* user, cairn_vm* vm, const cairn_value* arguments, size_t count,
                                            cairn_value* value);

/* The Jacobian at x of the numbers y of the result, in preorder, by the numbers x of the arguments, in preorder: jacobian[i *
 * x_count + j] is dy[i] / dx[j]; it comes filled with zeros. Must depend on its arguments only. Anything but OK ends the program.
 */
typedef cairn_status (*cairn_host_derivative)(void* user, const double* x, size_t x_count, const double* y, size_t y_count,
                                              double* jacobian);

/* The rules of an operator on tensors: a procedure whose arguments are tensors and numbers and whose result is one tensor. Both
 * see the arguments and the result without derivatives, and everything borrowed. Anything but OK ends the program. Reverse: for
 * the cotangent of the result, a tensor like it, cotangents[i] becomes the part of argument i, a tensor of its shape or a number,
 * taken over; what is left as it comes, unspecified, has none. Forward: for tangents[i] of the arguments, unspecified where there
 * is none, *tangent becomes that of the result, a tensor like it, taken over. */
typedef cairn_status (*cairn_host_reverse)(void* user, cairn_vm* vm, const cairn_value* arguments, size_t count,
                                           cairn_value result, cairn_value cotangent, cairn_value* cotangents);
typedef cairn_status (*cairn_host_forward)(void* user, cairn_vm* vm, const cairn_value* arguments, size_t count,
                                           cairn_value result, const cairn_value* tangents, cairn_value* tangent);

typedef struct cairn_host_procedure {
  size_t struct_size; /* sizeof(cairn_host_procedure) */
  const char* name;
  unsigned parameters;
  cairn_host_function call;
  cairn_host_derivative
      derivative; /* NULL: its result is a constant to derivatives; else first derivatives are exact, others refused */
  int repeatable; /* not 0: replays call it again, so it must give the same for the same; 0: it is called once, replays read a log
                   */
  void* user;     /* first argument of all */
  cairn_host_reverse reverse; /* of an operator on tensors, which has no `derivative`; NULL: no reverse mode */
  cairn_host_forward forward; /* likewise; NULL: no forward mode */
} cairn_host_procedure;

/* Before the program is loaded. BAD_ARGUMENT: there is one of that name already. */
CAIRN_API cairn_status cairn_vm_register(cairn_vm* vm, const cairn_host_procedure* procedure, char** error);

/* In a host function: the message of the error that its status ends the program with. */
CAIRN_API void cairn_host_complain(cairn_vm* vm, const char* message);

#ifdef __cplusplus
}
#endif

#endif
