// See program.h.
#include "program.h"

#include "common/exit_codes.h"
#include "common/files.h"
#include "targets.h"

#include <string_view>
#include <utility>
#include <vector>

namespace cairn::tools {

namespace {

bool ends_with(const std::string& text, std::string_view end) { return text.size() > end.size() && text.ends_with(end); }

} // namespace

void look_at_size(const RunOptions& options, const std::string& file) {
  constexpr std::uint64_t kBeside = std::uint64_t{32} << 20; // the budget, for texts that are not kept
  const std::uint64_t size = worth_reading(file);
  if (!options.spill.empty() && &file == &options.resume) return; // much of it may go there
  if (options.memory_bytes != 0 && size > kBeside && size - kBeside > options.memory_bytes)
    throw Leave{kOverBudget, file + ": error: a file of " + std::to_string(size) + " bytes does not fit into the memory budget" +
                                 (&file == &options.resume ? "; if it was saved by a run with --spill, --spill=DIR does, as most "
                                                             "of it then goes to a file again"
                                                           : "") +
                                 "\n"};
}

ModuleHandle compiled_or_read(const RunOptions& options) {
  const std::string& file = options.file;
  std::string bytes;
  CompilerBuffer compiled;
  const void* data = nullptr;
  std::size_t size = 0;
  if (ends_with(file, ".bc")) {
    std::string error;
    look_at_size(options, file);
    if (!read_file(file, bytes, error)) throw Leave{kBadUsage, error};
    data = bytes.data();
    size = bytes.size();
  } else if (ends_with(file, ".scm") || ends_with(file, ".vlad")) {
    std::vector<const char*> libraries;
    for (const std::string& folder : options.libraries) libraries.push_back(folder.c_str());
    cairn_compiler_options inner;
    cairn_compiler_options_init(&inner);
    inner.library_folders = libraries.data();
    inner.library_folder_count = libraries.size();
    inner.exports = 0;
    inner.memory_bytes = compiler_memory(options);
    CompilerBuffer error;
    cairn_status status = cairn_compile_file(file.c_str(), &inner, compiled.bytes(), compiled.size(), error.text());
    bool memory = status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY;
    if (status != CAIRN_OK)
      throw Leave{memory ? kOverBudget : kBadUsage, memory ? file + ": " + std::string(error.view()) : std::string(error.view())};
    data = compiled.data();
    size = compiled.length();
  } else if (ends_with(file, ".capsule")) {
    throw Leave{kBadUsage, file + ": error: a capsule file is continued with --resume=" + file + "\n"};
  } else {
    const bool of_option = ends_with(file, ".html") || ends_with(file, ".json");
    throw Leave{
        kBadUsage,
        file + ": error: expected a file whose name ends in .scm, .vlad or .bc" +
            (of_option ? "; the file of an option whose value may be left out stands behind '=', as in --explain=" + file : "") +
            "\n"};
  }
  CairnBuffer error;
  cairn_module* module = nullptr;
  cairn_status status = cairn_module_read(data, size, &module, error.text());
  if (status != CAIRN_OK) throw Leave{kBadUsage, file + ": error: " + std::string(error.view()) + "\n"};
  return ModuleHandle(module);
}

} // namespace cairn::tools
