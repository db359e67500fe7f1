// cairn_compiler.h on top of the compiler's two halves. No exception leaves this file.
#include "compiler/api/border.h"
#include "compiler/api/files.h"

#include "vm/bytecode/file.h"

#include <cstdlib>
#include <utility>

using namespace cairn::compiler;
using namespace cairn::compiler::api;

namespace {

// One program from its options to the end.
class Compilation {
public:
  Compilation(const cairn_compiler_options* options, cairn_file_reader otherwise)
      : options_(options), workspace_(budget_of(options), cancel_of(options)),
        read_(options != nullptr && options->read != nullptr ? options->read : otherwise),
        files_(read_, options == nullptr ? nullptr : options->user) {}
  Workspace& workspace() { return workspace_; }

  void to_module(std::string name, std::string text, void** bytes, std::size_t* size) {
    Options inner = inner_options();
    Program program = expand(std::move(name), std::move(text), inner);
    std::vector<std::string> warnings = rendered_warnings(program, listener_of(options_));
    cairn::bytecode::Module module = generate(std::move(program), inner);
    if (options_ != nullptr && options_->strip != 0) cairn::bytecode::strip(module);
    give(module, bytes, size);
    tell(warnings, listener_of(options_));
  }

  void to_ir(std::string name, std::string text, char** ir) {
    Options inner = inner_options();
    Program program = expand(std::move(name), std::move(text), inner);
    std::vector<std::string> warnings = rendered_warnings(program, listener_of(options_));
    *ir = copy_out(intermediate_text(std::move(program), inner));
    tell(warnings, listener_of(options_));
  }

private:
  Options inner_options() { return api::inner_options(options_, read_ != nullptr ? &files_ : nullptr); }

  const cairn_compiler_options* options_;
  Workspace workspace_;
  cairn_file_reader read_;
  ReaderFiles files_; // of use if there is a reader
};

} // namespace

void cairn_compiler_options_init(cairn_compiler_options* options) {
  if (options == nullptr) return;
  *options = cairn_compiler_options{};
  options->struct_size = sizeof(cairn_compiler_options);
  options->level = Options{}.level;
  options->exports = 1;
}

void cairn_compiler_free(void* text_or_bytes) { std::free(text_or_bytes); }

cairn_status cairn_compile(const char* name, const char* text, size_t size, const cairn_compiler_options* options, void** bytes,
                           size_t* bytes_size, char** error) {
  if (error != nullptr) *error = nullptr;
  if (name == nullptr || (text == nullptr && size != 0) || bytes == nullptr || bytes_size == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_compile: an argument makes no sense");
  *bytes = nullptr;
  *bytes_size = 0;
  Compilation compilation(options, nullptr);
  return guarded(compilation.workspace(), error,
                 [&] { compilation.to_module(name, size == 0 ? std::string() : std::string(text, size), bytes, bytes_size); });
}

cairn_status cairn_compile_file(const char* path, const cairn_compiler_options* options, void** bytes, size_t* bytes_size,
                                char** error) {
  if (error != nullptr) *error = nullptr;
  if (path == nullptr || bytes == nullptr || bytes_size == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_compile_file: an argument makes no sense");
  *bytes = nullptr;
  *bytes_size = 0;
  Compilation compilation(options, cairn_read_beneath);
  return guarded(compilation.workspace(), error, [&] { compilation.to_module(path, read_program(path), bytes, bytes_size); });
}

cairn_status cairn_compile_file_to_ir(const char* path, const cairn_compiler_options* options, char** ir, char** error) {
  if (error != nullptr) *error = nullptr;
  if (path == nullptr || ir == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_compile_file_to_ir: an argument makes no sense");
  *ir = nullptr;
  Compilation compilation(options, cairn_read_beneath);
  return guarded(compilation.workspace(), error, [&] { compilation.to_ir(path, read_program(path), ir); });
}
