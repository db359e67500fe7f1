// vmc: compiles a source file to bytecode, or shows what the compiler makes of it.
#include "common/arguments.h"
#include "common/exit_codes.h"
#include "common/files.h"
#include "common/handles.h"
#include "common/writing.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <unistd.h>

using namespace cairn::tools;

namespace {

constexpr std::uint64_t kMostHostParameters = 1000; // more than anybody writes, fewer than a call can hold

struct Options {
  std::string file, output, emit = "bc";
  int level = 2;
  bool strip = false, exports = false, no_warnings = false, reseal = false;
  std::vector<std::string> hosts; // NAME/PARAMETERS
  std::vector<std::string> libraries;
  std::uint64_t memory_bytes = 0; // 0: the compiler's default
};

std::string default_output(const std::string& file) {
  std::size_t dot = file.rfind('.');
  std::size_t slash = file.rfind('/');
  bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot != 0;
  return (has_extension ? file.substr(0, dot) : file) + ".bc";
}

int put(const Options& options, const void* bytes, std::size_t size) {
  std::string error;
  if (!options.output.empty() && options.output != "-") {
    if (write_file_atomically(options.output, bytes, size, error)) return kDone;
  } else {
    if (write_output({static_cast<const char*>(bytes), size})) return kDone;
    error = "vmc: error: standard output cannot be written\n";
  }
  complain(error);
  return kBadUsage;
}

// The declarations of --host; their names live in `names`.
std::vector<cairn_host_declaration> host_declarations(const Options& options, std::deque<std::string>& names) {
  std::vector<cairn_host_declaration> declarations;
  for (const std::string& host : options.hosts) {
    std::size_t slash = host.rfind('/');
    auto parameters = slash == std::string::npos ? std::nullopt : parse_count(std::string_view(host).substr(slash + 1));
    if (slash == 0 || !parameters || *parameters > kMostHostParameters)
      throw UsageError("--host: expected NAME/PARAMETERS like gauge/2, got \"" + host + "\"");
    const std::string& name = names.emplace_back(host, 0, slash);
    if (std::find(names.begin(), names.end() - 1, name) != names.end() - 1)
      throw UsageError("--host: \"" + name + "\" is declared twice");
    declarations.push_back({name.c_str(), static_cast<unsigned>(*parameters)});
  }
  return declarations;
}

int compile(const Options& options) {
  std::vector<const char*> libraries;
  for (const std::string& folder : options.libraries) libraries.push_back(folder.c_str());
  cairn_compiler_options inner;
  cairn_compiler_options_init(&inner);
  inner.level = options.level;
  inner.strip = options.strip;
  inner.library_folders = libraries.data();
  inner.library_folder_count = libraries.size();
  inner.exports = options.exports;
  inner.memory_bytes = options.memory_bytes;
  if (!options.no_warnings) inner.warn = [](void*, const char* text, std::size_t bytes) { complain({text, bytes}); };
  std::deque<std::string> host_names;
  std::vector<cairn_host_declaration> hosts = host_declarations(options, host_names);
  inner.hosts = hosts.data();
  inner.host_count = hosts.size();

  CompilerBuffer result, error;
  cairn_status status = options.emit == "ir"
                            ? cairn_compile_file_to_ir(options.file.c_str(), &inner, result.text(), error.text())
                            : cairn_compile_file(options.file.c_str(), &inner, result.bytes(), result.size(), error.text());
  if (status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY) {
    complain(options.file + ": " + std::string(error.view()));
    return kOverBudget;
  }
  if (status != CAIRN_OK) {
    complain(error.view());
    return kBadUsage;
  }
  if (options.emit == "ir") return put(options, result.view().data(), result.view().size());
  if (options.emit == "bc") return put(options, result.data(), result.length());

  cairn_module* module = nullptr;
  CairnBuffer unsound, text;
  status = cairn_module_read(result.data(), result.length(), &module, unsound.text());
  ModuleHandle handle(module);
  if (status == CAIRN_OK) status = cairn_module_disassemble(module, text.text());
  if (status != CAIRN_OK) {
    complain(options.file + ": error: " + std::string(unsound.view()) + "\n");
    return kBadUsage;
  }
  return put(options, text.view().data(), text.view().size());
}

// For tests of what checks files: a damaged one gets past the checksum.
int reseal(const Options& options) {
  std::string bytes, error;
  bool good = read_file(options.file, bytes, error);
  CairnBuffer message;
  if (good && cairn_reseal(bytes.data(), bytes.size(), message.text()) != CAIRN_OK) {
    error = options.file + ": error: " + std::string(message.view()) + "\n";
    good = false;
  }
  if (good && write_file_atomically(options.output.empty() ? options.file : options.output, bytes.data(), bytes.size(), error))
    return kDone;
  complain(error);
  return kBadUsage;
}

} // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  Options options;
  CLI::App app("Compiles a Cairn program to bytecode.", "vmc");
  add_common_options(app, {{kDone, kBadUsage, kOverBudget}});
  app.add_option("FILE", options.file, "the program, .scm or .vlad; with --reseal a .bc or capsule file")->required();
  app.add_option("-o,--output", options.output, "where to write (FILE.bc; text goes to standard output)")->type_name("FILE");
  app.add_option("-O,--optimize", options.level, "level of optimisation, 0 to 2 (2)")
      ->check(CLI::Range(0, 2))
      ->type_name("LEVEL");
  app.add_option("--emit", options.emit, "bc: bytecode; asm: its instructions as text; ir: the program before code generation")
      ->check(CLI::IsMember({"bc", "asm", "ir"}))
      ->type_name("WHAT");
  app.add_flag("--strip", options.strip, "leave out source text and places")->disable_flag_override();
  app.add_option("--library", options.libraries, "a folder where (import name) looks; may be repeated")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  std::string memory;
  app.add_option("--memory", memory, "the most that compiling may take, e.g. 256MiB (1GiB)")->type_name("SIZE");
  app.add_flag("-w,--no-warnings", options.no_warnings, "say nothing about unused and hidden names")->disable_flag_override();
  app.add_flag("--exports", options.exports, "keep every definition, so that a host program finds it by name")
      ->disable_flag_override();
  app.add_option("--host", options.hosts, "a procedure that the host program provides; may be repeated")
      ->type_name("NAME/PARAMETERS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--reseal", options.reseal, "FILE is a module or a capsule: make its checksum right again, in place or into -o")
      ->disable_flag_override();
  if (auto code = parse_arguments(app, {argv + 1, argv + argc})) return *code;
  if (app.count("--memory") != 0) {
    auto bytes = parse_size(memory);
    if (!bytes) return bad_usage("vmc", "--memory: expected a size like 256MiB, got \"" + memory + "\"");
    options.memory_bytes = *bytes;
  }
  if (options.reseal) {
    for (const char* option :
         {"--optimize", "--emit", "--strip", "--library", "--memory", "--no-warnings", "--exports", "--host"})
      if (app.count(option) != 0)
        return bad_usage("vmc", std::string("--reseal compiles nothing: it cannot be given with ") + option);
    return reseal(options);
  }
  if (options.emit == "bc" && options.output.empty()) options.output = default_output(options.file);
  if (options.output == options.file) return bad_usage("vmc", "the output would overwrite " + options.file);
  try {
    check_libraries(options.libraries);
    return compile(options);
  } catch (const UsageError& e) {
    return bad_usage("vmc", e.what());
  }
}
