// cairn_compiler.h on top of the compiler's two halves. No exception leaves this file.
#include "cairn_compiler.h"

#include "compiler/compiler.h"
#include "vm/bytecode/file.h"
#include "vm/text/diagnostic.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace {

using cairn::bytecode::Module;
using cairn::compiler::Diagnostic;
using cairn::compiler::Failure;
using cairn::compiler::Options;
using cairn::compiler::Program;

struct NoFile {
  std::string message;
};

// What leaves the library is malloc's, so that one function releases all of it.
void* copy_out(const void* bytes, std::size_t size) {
  void* copy = std::malloc(size + 1);
  if (copy == nullptr) throw std::bad_alloc();
  if (size != 0) std::memcpy(copy, bytes, size);
  static_cast<char*>(copy)[size] = 0;
  return copy;
}

cairn_status fail(cairn_status status, char** error, std::string_view message) {
  if (error == nullptr) return status;
  try {
    *error = static_cast<char*>(copy_out(message.data(), message.size()));
  } catch (const std::bad_alloc&) {
    return CAIRN_OUT_OF_MEMORY;
  }
  return status;
}

std::string rendered(const Diagnostic& d, const std::vector<cairn::bytecode::Source>& sources, std::string_view severity) {
  bool known = d.span.file < sources.size();
  return cairn::text::render(known ? &sources[d.span.file] : nullptr, known ? &d.span : nullptr, severity, d.message);
}

template <class Body> cairn_status guarded(char** error, Body&& body) {
  if (error != nullptr) *error = nullptr;
  try {
    body();
    return CAIRN_OK;
  } catch (const Failure& failure) {
    try {
      return fail(CAIRN_BAD_SOURCE, error, rendered(failure.diagnostic, failure.sources, "error"));
    } catch (...) {
      return CAIRN_OUT_OF_MEMORY;
    }
  } catch (const NoFile& missing) {
    return fail(CAIRN_NO_FILE, error, missing.message);
  } catch (const std::bad_alloc&) {
    return fail(CAIRN_OUT_OF_MEMORY, error, "error: the system gave no memory\n");
  } catch (const std::exception& e) {
    return fail(CAIRN_INTERNAL, error, std::string("error: a fault inside the compiler: ") + e.what() + "\n");
  } catch (...) {
    return fail(CAIRN_INTERNAL, error, "error: a fault inside the compiler\n");
  }
}

bool usable_hosts(const cairn_host_declaration* hosts, std::size_t count) {
  if (count == 0) return true;
  if (hosts == nullptr || count > UINT16_MAX) return false;
  std::unordered_set<std::string_view> names;
  return std::all_of(hosts, hosts + count, [&](const cairn_host_declaration& h) {
    return h.name != nullptr && h.parameters <= cairn::bytecode::kMostRegisters && names.insert(h.name).second;
  });
}

bool usable(const cairn_compiler_options* options) {
  return options == nullptr ||
         (options->struct_size == sizeof(cairn_compiler_options) && options->level >= 0 && options->level <= 2 &&
          (options->library_folder_count == 0 || options->library_folders != nullptr) &&
          usable_hosts(options->hosts, options->host_count));
}

Options inner_options(const cairn_compiler_options* options) {
  Options inner;
  inner.exports = options == nullptr || options->exports != 0;
  if (options == nullptr) return inner;
  inner.level = options->level;
  for (std::size_t i = 0; i < options->host_count; ++i)
    inner.hosts.push_back({options->hosts[i].name, static_cast<std::uint16_t>(options->hosts[i].parameters)});
  for (std::size_t i = 0; i < options->library_folder_count; ++i) inner.library_folders.emplace_back(options->library_folders[i]);
  return inner;
}

std::string read_text(const char* path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) throw NoFile{std::string(path) + ": error: is a folder, not a file\n"};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw NoFile{std::string(path) + ": error: cannot be read: " + std::strerror(errno) + "\n"};
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw NoFile{std::string(path) + ": error: cannot be read\n"};
  return text;
}

// Nothing if nobody wants them.
std::vector<std::string> rendered_warnings(const Program& program, const cairn_compiler_options* options) {
  std::vector<std::string> out;
  if (options == nullptr || options->warn == nullptr) return out;
  for (const Diagnostic& d : program.warnings) out.push_back(rendered(d, program.sources, "warning"));
  return out;
}

void compile(std::string name, std::string text, const cairn_compiler_options* options, void** bytes, std::size_t* size) {
  Options inner = inner_options(options);
  Program program = cairn::compiler::expand(std::move(name), std::move(text), inner);
  std::vector<std::string> warnings = rendered_warnings(program, options);
  Module module = cairn::compiler::generate(std::move(program), inner);
  if (options != nullptr && options->strip != 0) cairn::bytecode::strip(module);
  auto written = cairn::bytecode::write_module(module);
  for (const std::string& w : warnings) options->warn(options->user, w.data(), w.size());
  *bytes = copy_out(written.data(), written.size());
  *size = written.size();
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
    Program program = cairn::compiler::expand(path, read_text(path), inner);
    std::vector<std::string> warnings = rendered_warnings(program, options);
    std::string text = cairn::compiler::intermediate_text(std::move(program), inner);
    for (const std::string& w : warnings) options->warn(options->user, w.data(), w.size());
    *ir = static_cast<char*>(copy_out(text.data(), text.size()));
  });
}
