/* Cairn's C interface: load bytecode, run it by counted steps, stop anywhere, save, restore, ask for figures.
 *
 * Ownership, the one rule: every pointer a function gives you is yours to release once; every pointer you pass is borrowed for
 * the call (callbacks and their user pointer: as long as the vm lives). Handles are released by their own _free, text and bytes
 * by cairn_free; a _free of NULL does nothing. Text is UTF-8 and ends with a zero byte. Threads: one thread at a time per handle;
 * different handles are independent. Errors: a function that can fail returns a cairn_status; nothing is thrown, nothing aborts.
 * Where a function takes `char** error` it may be NULL; otherwise *error becomes a message (yours) on failure and NULL on
 * success. Other results are NULL or 0 on failure. */
#ifndef CAIRN_H
#define CAIRN_H

#include <stddef.h>
#include <stdint.h>

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0
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
  X(OVER_BUDGET, 3, "the memory budget is exceeded")                                                                             \
  X(BAD_SOURCE, 4, "the source text does not compile")                                                                           \
  X(BAD_MODULE, 5, "no sound bytecode module of this version")                                                                   \
  X(BAD_CAPSULE, 6, "no sound capsule file of this version")                                                                     \
  X(BAD_ARGUMENT, 7, "a call with an argument that makes no sense, or at the wrong time")                                        \
  X(NO_FILE, 8, "a file cannot be read")                                                                                         \
  X(OUT_OF_MEMORY, 9, "the system gave no memory")                                                                               \
  X(INTERNAL, 10, "a fault inside Cairn")

typedef enum cairn_status {
#define CAIRN_STATUS_ENTRY(name, code, text) CAIRN_##name = code,
  CAIRN_STATUS_TABLE(CAIRN_STATUS_ENTRY)
#undef CAIRN_STATUS_ENTRY
      CAIRN_STATUS_LARGEST = 0x7fffffff
} cairn_status;

typedef struct cairn_module cairn_module; /* a bytecode module; immutable */
typedef struct cairn_vm cairn_vm;         /* one machine and the program it runs */

/* The version of the library that runs, as CAIRN_VERSION_NUMBER is that of the header: 1 000 000 * major + 1 000 * minor + patch.
 */
CAIRN_API int cairn_version(void);

/* The text of a status, from the table above; of any other number "unknown status". NULL only without memory. */
CAIRN_API char* cairn_status_text(cairn_status status);

/* Releases text or bytes that a function of this header gave. */
CAIRN_API void cairn_free(void* text_or_bytes);

/* ---- modules ---- */

/* Reads a .bc file's bytes and verifies what they hold. BAD_MODULE: damaged, of another version, or unsound. */
CAIRN_API cairn_status cairn_module_read(const void* bytes, size_t size, cairn_module** module, char** error);

/* The bytes of a .bc file. */
CAIRN_API cairn_status cairn_module_write(const cairn_module* module, void** bytes, size_t* size);

/* Readable, stable text of the instructions, with source lines where they are known. */
CAIRN_API cairn_status cairn_module_disassemble(const cairn_module* module, char** text);

CAIRN_API void cairn_module_free(cairn_module* module);

/* ---- machines ---- */

#define CAIRN_UNLIMITED UINT64_MAX

/* Writes `bytes` bytes of the program's output; returns 0, or anything else when they could not be written: then the program ends
 * with an error at the place that wrote. Called from cairn_vm_run only. */
typedef int (*cairn_write_function)(void* user, const char* text, size_t bytes);

/* Fills `buffer` with at most `capacity` bytes of input; returns how many, 0 at the end of input, or SIZE_MAX when reading
 * failed: then the program ends with an error. Called from cairn_vm_run only. */
typedef size_t (*cairn_read_function)(void* user, char* buffer, size_t capacity);

typedef struct cairn_vm_options {
  size_t struct_size;    /* set by cairn_vm_options_init */
  uint64_t memory_bytes; /* budget of accounted memory; 0: cairn_default_memory(); CAIRN_UNLIMITED: none */
  uint64_t seed;         /* of the random numbers of the program; a restored machine keeps its own */
  const char*
      schedule; /* of checkpoint-*j: "auto", "binomial,snapshots=8", ...; NULL: "auto"; a restored machine keeps its own */
  const char* const* arguments; /* (command-line); a restored machine keeps its own */
  size_t argument_count;
  cairn_write_function output;  /* the program's output; NULL: dropped */
  cairn_read_function input;    /* the program's input; NULL: empty */
  cairn_write_function explain; /* a report after each outermost checkpoint-*j; NULL: none. Its result is ignored. */
  void* user;                   /* first argument of the three */
} cairn_vm_options;

/* Fills in the defaults. Call it first, then set what differs. */
CAIRN_API void cairn_vm_options_init(cairn_vm_options* options);

/* Three quarters of the memory that the machine or the control group of this process (version 1 or 2) has, in bytes. */
CAIRN_API uint64_t cairn_default_memory(void);

/* A machine without a program. `options` may be NULL. BAD_ARGUMENT: the schedule is malformed (the message says what would be
 * right), or struct_size was not set. */
CAIRN_API cairn_status cairn_vm_create(const cairn_vm_options* options, cairn_vm** vm, char** error);

/* Gives a machine its program, once: from a module (the machine keeps a copy), or from the bytes of a capsule file, which hold a
 * module and a state to continue from. OVER_BUDGET: the budget does not even hold the program; BAD_ARGUMENT: there is a program
 * already. */
CAIRN_API cairn_status cairn_vm_load(cairn_vm* vm, const cairn_module* module, char** error);
CAIRN_API cairn_status cairn_vm_restore(cairn_vm* vm, const void* bytes, size_t size, char** error);

/* Runs at most `steps` steps from where the machine stands (CAIRN_UNLIMITED: to the end). OK: the program has ended;
 * OUT_OF_STEPS: exactly `steps` steps were made, call again to go on; PROGRAM_ERROR, OVER_BUDGET: it cannot go on, cairn_vm_error
 * says why. BAD_ARGUMENT: no program, or it has ended already. */
CAIRN_API cairn_status cairn_vm_run(cairn_vm* vm, uint64_t steps);

/* After PROGRAM_ERROR and OVER_BUDGET: "FILE:LINE:COLUMN: error: ...", the line with a caret, the call chain. */
CAIRN_API cairn_status cairn_vm_error(const cairn_vm* vm, char** text);

/* After OK: the value of the program's last form as `write` prints it. */
CAIRN_API cairn_status cairn_vm_result(const cairn_vm* vm, char** text);

/* Steps since the program began, those before a restore included. 0 without a program. */
CAIRN_API uint64_t cairn_vm_steps(const cairn_vm* vm);

/* Bytes of output since the program began, those before a restore included. */
CAIRN_API uint64_t cairn_vm_output_bytes(const cairn_vm* vm);

/* Counters as one line of JSON without newline; docs/c-api.md lists the keys. `wall_s` and `rss_peak_bytes` are of this process,
 * all others are part of the state and continue across a restore. */
CAIRN_API cairn_status cairn_vm_statistics(const cairn_vm* vm, char** json);

/* The bytes of a capsule file. BAD_ARGUMENT unless the machine stands before its first step or after OUT_OF_STEPS. */
CAIRN_API cairn_status cairn_vm_save(const cairn_vm* vm, void** bytes, size_t* size);

CAIRN_API void cairn_vm_free(cairn_vm* vm);

#ifdef __cplusplus
}
#endif

#endif
