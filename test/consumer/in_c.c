/* Compiles a program, runs it in pieces and shows its output. */
#include <cairn.h>
#include <cairn_compiler.h>
#include <stdio.h>
#include <string.h>

#if CAIRN_VERSION_NUMBER < 1000
#error "the header is older than this program"
#endif

static int print(void* user, const char* text, size_t bytes) { return fwrite(text, 1, bytes, user) == bytes ? 0 : 1; }

int main(void) {
  const char* source = "(write-real (cdr (checkpoint-*j (lambda (x) (* x x x)) 2 1)))";
  void* bytes = NULL;
  size_t size = 0;
  cairn_module* module = NULL;
  cairn_vm* vm = NULL;
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.output = print;
  options.user = stdout;

  cairn_status status = cairn_abi_version() == CAIRN_ABI_VERSION ? CAIRN_OK : CAIRN_BAD_ARGUMENT;
  if (status == CAIRN_OK) status = cairn_compile("cube.scm", source, strlen(source), NULL, &bytes, &size, NULL);
  if (status == CAIRN_OK) status = cairn_module_read(bytes, size, &module, NULL);
  if (status == CAIRN_OK) status = cairn_vm_create(&options, &vm, NULL);
  if (status == CAIRN_OK) status = cairn_vm_load(vm, module, NULL);
  while (status == CAIRN_OK && (status = cairn_vm_run(vm, 10)) == CAIRN_OUT_OF_STEPS) status = CAIRN_OK;

  cairn_vm_free(vm);
  cairn_module_free(module);
  cairn_compiler_free(bytes);
  return (int)status;
}
