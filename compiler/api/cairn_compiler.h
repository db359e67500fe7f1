/* Cairn's compiler as C calls: source text in, bytes of a .bc file out. It knows nothing of machines; cairn.h runs what it makes.
 *
 * The rules of cairn.h hold: every pointer a function gives you is yours to release once (with cairn_compiler_free), every
 * pointer you pass is borrowed for the call; nothing is thrown. Calls are independent of each other and may run in different
 * threads. */
#ifndef CAIRN_COMPILER_H
#define CAIRN_COMPILER_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A procedure that the host of the machine will provide under this name, with so many parameters. Programs call it as they call
 * built-in ones; a program that defines the name itself means its own. */
typedef struct cairn_host_declaration {
  const char* name;
  unsigned parameters;
} cairn_host_declaration;

/* What a reader of files gives the text to. */
typedef struct cairn_text cairn_text;

/* Gives the text of a file that a program includes or imports: `path` beneath `folder`, which is the folder of the program's
 * `name` ("": the current one) or one of library_folders. `path` is relative and has no "..". OK: it has called cairn_text_add,
 * as often as it likes. NO_FILE: there is none, and the next place is tried. Anything else: the program does not compile. */
typedef cairn_status (*cairn_file_reader)(void* user, const char* folder, const char* path, cairn_text* text);

/* In a reader: the next bytes of the file. OVER_BUDGET: there is no room for them, or compiling was cancelled; return. */
CAIRN_API cairn_status cairn_text_add(cairn_text* text, const char* bytes, size_t size);

/* A reader that gives regular files beneath the folder, and what links there lead to if that is beneath it too. */
CAIRN_API cairn_status cairn_read_beneath(void* user, const char* folder, const char* path, cairn_text* text);

typedef struct cairn_compiler_options {
  size_t struct_size;                 /* set by cairn_compiler_options_init */
  int level;                          /* of optimisation: 0 none, 1, 2 all (the default) */
  int strip;                          /* not 0: without source text and locations; messages then have no lines */
  const char* const* library_folders; /* where (import name) looks after the importing file's own folder */
  size_t library_folder_count;
  int exports; /* not 0 (the default): every definition of the program's is kept, so that it can be looked up by name */
  const cairn_host_declaration* hosts; /* different names */
  size_t host_count;
  /* Takes each warning about a program that compiles, "FILE:LINE:COLUMN: warning: ..." with the line and a caret; NULL: nobody */
  void (*warn)(void* user, const char* text, size_t bytes);
  void* user; /* first argument of `warn` and `read` */
  /* Where the files come from that a program includes or imports. NULL (the default): it has none; cairn_compile_file takes
   * cairn_read_beneath then. */
  cairn_file_reader read;
  /* The most that compiling takes, the stack included; 0 (the default): CAIRN_COMPILER_MEMORY. Of a session: what it keeps and
   * what its text in work takes. */
  uint64_t memory_bytes;
  /* NULL or a number that other threads and signal handlers may set. While it is not 0, calls end with CANCELLED, within
   * milliseconds. */
  const volatile int* cancel;
} cairn_compiler_options;

#define CAIRN_COMPILER_MEMORY (UINT64_C(1) << 30)

/* Fills in the defaults. Call it first, then set what differs. */
CAIRN_API void cairn_compiler_options_init(cairn_compiler_options* options);

/* Releases text or bytes that a function of this header gave. */
CAIRN_API void cairn_compiler_free(void* text_or_bytes);

/* Compiles `size` bytes of source text. `name` is what messages call it, and its folder is where include and import look first,
 * if options->read is there. `options` may be NULL. On success *bytes, *bytes_size are those of a .bc file. BAD_SOURCE: *error is
 * "FILE:LINE:COLUMN: error: ..." with the line and a caret. OVER_BUDGET, CANCELLED: nothing is left of it. */
CAIRN_API cairn_status cairn_compile(const char* name, const char* text, size_t size, const cairn_compiler_options* options,
                                     void** bytes, size_t* bytes_size, char** error);

/* The same for a file, which may include and import files beneath its folder. NO_FILE: it cannot be read. */
CAIRN_API cairn_status cairn_compile_file(const char* path, const cairn_compiler_options* options, void** bytes,
                                          size_t* bytes_size, char** error);

/* The program between the compiler's halves, in A-normal form after the passes, as text for people. */
CAIRN_API cairn_status cairn_compile_file_to_ir(const char* path, const cairn_compiler_options* options, char** ir, char** error);

/* ---- sessions: text by text ---- */

/* A program that is given piece by piece, to a loop that reads commands or a host that loads code as it goes. One thread at a
 * time. */
typedef struct cairn_session cairn_session;

/* `options` may be NULL. All definitions are kept whatever `exports` says; `warn`, `read`, `user` and `cancel` are used as long
 * as the session lives. */
CAIRN_API cairn_status cairn_session_create(const cairn_compiler_options* options, cairn_session** session, char** error);

/* Compiles the next text. The first module is a whole one; each further one is an extension of those before, holds what its text
 * adds, and costs as much: cairn_vm_extend gives it to the machine that has the others. Its top level runs this text alone.
 * Top-level names stay open: a text may define any name again, and what older texts defined then sees the new value. A file that
 * was imported is not imported again. If it fails, the session is as before. OVER_BUDGET and CANCELLED are failures like others.
 * A text counts from here on, also if running it fails: what it did not get to define is an error to read. */
CAIRN_API cairn_status cairn_session_compile(cairn_session* session, const char* name, const char* text, size_t size,
                                             void** bytes, size_t* bytes_size, char** error);

/* Takes the last text back, as if it had not been given: for a module that the machine refused or that was only to be looked at.
 * BAD_ARGUMENT: it did not compile or is taken back already. */
CAIRN_API cairn_status cairn_session_undo(cairn_session* session);

/* All texts so far as one whole module, whose top level runs the last one: for a .bc file, to be disassembled, or for a machine
 * that lacks some of them. BAD_ARGUMENT: there is no text yet. */
CAIRN_API cairn_status cairn_session_module(cairn_session* session, void** bytes, size_t* bytes_size, char** error);

/* 1 if the last text ends with an expression, whose value is then that of its run; 0 if with a definition, or before all texts.
 */
CAIRN_API int cairn_session_has_value(const cairn_session* session);

/* The names that a text may mention and that begin with `prefix` (NULL: all), one a line, in the order of their bytes. */
CAIRN_API cairn_status cairn_session_names(const cairn_session* session, const char* prefix, char** names);

CAIRN_API void cairn_session_free(cairn_session* session);

/* 0 if more text is needed: an open parenthesis, string or comment, or a quote before nothing. 1 if the text is complete or wrong
 * in a way that more text does not mend; -1 without memory. */
CAIRN_API int cairn_source_is_complete(const char* text, size_t size);

/* The same for text that comes line by line, each read once. */
typedef struct cairn_entry cairn_entry;
CAIRN_API cairn_status cairn_entry_create(cairn_entry** entry);

/* The next `size` bytes, which are whole lines. What cairn_source_is_complete says of all that was added. */
CAIRN_API int cairn_entry_add(cairn_entry* entry, const char* lines, size_t size);
CAIRN_API void cairn_entry_free(cairn_entry* entry);

#ifdef __cplusplus
}
#endif

#endif
