// Any text is compiled or refused; what is compiled is a sound module. The first byte chooses the level.
#include "compiler/api/cairn_compiler.h"
#include "test/fuzz/fuzzing.h"
#include "vm/api/cairn.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.level = data[0] % 3;
  void* bytes = nullptr;
  std::size_t length = 0;
  char* error = nullptr;
  cairn_status status =
      cairn_compile("fuzz.scm", reinterpret_cast<const char*>(data) + 1, size - 1, &options, &bytes, &length, &error);
  if (status == CAIRN_OK) {
    cairn_module* module = nullptr;
    status = cairn_module_read(bytes, length, &module, nullptr);
    fuzzing::promise(status == CAIRN_OK, "what the compiler makes is sound");
    cairn_module_free(module);
  } else {
    fuzzing::promise(status == CAIRN_BAD_SOURCE, "a text is compiled or refused", error == nullptr ? "" : error);
  }
  cairn_compiler_free(bytes);
  cairn_compiler_free(error);
  return 0;
}
