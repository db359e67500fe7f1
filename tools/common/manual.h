// Manual pages and completions for shells, made from the table of options that a tool has anyway: what --help says, man and the
// shells say too. The build writes them into files (CMakeLists.txt), and docs/tools.md is compared with the same table by a test.
#pragma once

#include "common/exit_codes.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::tools {

// What the table of options does not say about a tool.
struct Conduct {
  std::vector<ExitCode> exits;
  bool options_end_at_operand = false; // what follows the first operand belongs to somebody else
};

// MAJOR.MINOR.PATCH of the library.
std::string version_text();

// A page for man(1), in its own markup.
std::string manual_page(const CLI::App& app, const Conduct& conduct);

// Of the shells bash, zsh and fish; nothing for others.
std::optional<std::string> completion(const CLI::App& app, const Conduct& conduct, std::string_view shell);

} // namespace cairn::tools
