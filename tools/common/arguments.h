// Command lines: sizes, times and counts as users write them, and one way for every tool to say that it was called wrongly.
#pragma once

#include "common/manual.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::tools {

// The message is for the user, without the tool's name.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// UsageError, unless each folder of --library is there.
void check_libraries(const std::vector<std::string>& folders);

// 1000000, 64KiB, 1.5GiB (powers of 1024: KiB or K, MiB or M, GiB or G, TiB or T), 10MB (powers of 1000: kB, MB, GB, TB). At
// least one byte.
std::optional<std::uint64_t> parse_size(std::string_view text);
// 500ms, 10s, 5min, 2h, as seconds; more than zero.
std::optional<double> parse_time(std::string_view text);
// Decimal digits, below 2^64.
std::optional<std::uint64_t> parse_count(std::string_view text);

// Where in `arguments` the first one stands that is neither an option of `app` nor the value of one.
std::size_t first_operand(const CLI::App& app, const std::vector<std::string>& arguments);

// Parses `arguments` with `app`: nothing if all is well, else the exit code of the tool, which then has said why (or shown
// --help, --version).
std::optional<int> parse_arguments(CLI::App& app, const std::vector<std::string>& arguments);

// Says that `tool` was called wrongly; returns the exit code for it.
int bad_usage(std::string_view tool, std::string_view message);

// --help and --version as all tools have them, and what shows manuals and completions.
void add_common_options(CLI::App& app, const Conduct& conduct);

} // namespace cairn::tools
