// cairn_compiler.h on top of the compiler's two halves. No exception leaves this file.
#include "compiler/api/border.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

using namespace cairn::compiler;
using namespace cairn::compiler::api;

namespace {

std::string read_text(const char* path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) throw NoFile{std::string(path) + ": error: is a folder, not a file\n"};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw NoFile{std::string(path) + ": error: cannot be read: " + std::strerror(errno) + "\n"};
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw NoFile{std::string(path) + ": error: cannot be read\n"};
  return text;
}

void compile(std::string name, std::string text, const cairn_compiler_options* options, void** bytes, std::size_t* size) {
  Options inner = inner_options(options);
  Program program = expand(std::move(name), std::move(text), inner);
  std::vector<std::string> warnings = rendered_warnings(program, listener_of(options));
  give(generate(std::move(program), inner), options != nullptr && options->strip != 0, bytes, size);
  tell(warnings, listener_of(options));
}

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
  return guarded(error, [&] { compile(name, size == 0 ? std::string() : std::string(text, size), options, bytes, bytes_size); });
}

cairn_status cairn_compile_file(const char* path, const cairn_compiler_options* options, void** bytes, size_t* bytes_size,
                                char** error) {
  if (error != nullptr) *error = nullptr;
  if (path == nullptr || bytes == nullptr || bytes_size == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_compile_file: an argument makes no sense");
  *bytes = nullptr;
  *bytes_size = 0;
  return guarded(error, [&] { compile(path, read_text(path), options, bytes, bytes_size); });
}

cairn_status cairn_compile_file_to_ir(const char* path, const cairn_compiler_options* options, char** ir, char** error) {
  if (error != nullptr) *error = nullptr;
  if (path == nullptr || ir == nullptr || !usable(options))
    return fail(CAIRN_BAD_ARGUMENT, error, "cairn_compile_file_to_ir: an argument makes no sense");
  *ir = nullptr;
  return guarded(error, [&] {
    Options inner = inner_options(options);
    Program program = expand(path, read_text(path), inner);
    std::vector<std::string> warnings = rendered_warnings(program, listener_of(options));
    *ir = copy_out(intermediate_text(std::move(program), inner));
    tell(warnings, listener_of(options));
  });
}
