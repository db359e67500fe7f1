/* A whole program of the two headers, compiled as C11 in the tree; a function stands for main and for standard output. */
#include "cairn.h"
#include "cairn_compiler.h"

#include <stdio.h>
#include <string.h>

typedef void (*print_function)(const char*, size_t);

static int print(void* user, const char* text, size_t bytes) {
  (*(print_function*)user)(text, bytes);
  return 0;
}

int example(print_function to);
int example(print_function to) {
  const char* source = "(write-real (cdr (checkpoint-*j (lambda (x) (* x x x)) 2 1)))";
  void* bytes = NULL;
  size_t size = 0;
  char *complaint = NULL, *error = NULL;
  cairn_module* module = NULL;
  cairn_vm* vm = NULL;
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.output = print;
  options.user = &to;

  cairn_status status = cairn_compile("cube.scm", source, strlen(source), NULL, &bytes, &size, &complaint);
  if (status == CAIRN_OK) status = cairn_module_read(bytes, size, &module, &error);
  if (status == CAIRN_OK) status = cairn_vm_create(&options, &vm, &error);
  if (status == CAIRN_OK) status = cairn_vm_load(vm, module, &error);
  while (status == CAIRN_OK && (status = cairn_vm_run(vm, 10)) == CAIRN_OUT_OF_STEPS) status = CAIRN_OK;
  if (complaint != NULL) fputs(complaint, stderr);
  if (error != NULL) fputs(error, stderr);

  cairn_free(error);
  cairn_compiler_free(complaint);
  cairn_vm_free(vm);
  cairn_module_free(module);
  cairn_compiler_free(bytes);
  return status == CAIRN_OK ? 0 : 1;
}
