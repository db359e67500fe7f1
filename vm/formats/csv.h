// Comma-separated values: lines of numbers, all of one length, below a line of names that may be missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::formats {

struct CsvTable {
  std::vector<std::string> names; // empty: the first line has numbers
  std::int64_t rows = 0, columns = 0;
};

struct CsvReader {
  std::function<void(double)> number;      // the numbers, line by line: NaN where a field is empty or says that it is missing
  std::function<void(std::uint64_t)> hold; // bytes that are about to be taken for the first line
};

// FormatError.
CsvTable parse_csv(std::string_view text, const CsvReader& reader);

// Whether a field of a table says that nothing is there.
bool is_missing(std::string_view field);
// The number that a field of a table is, NaN where it is missing: digits with a point and a power of ten, inf, infinity or nan,
// with a sign or without.
std::optional<double> field_number(std::string_view field);

// The number that begins at `at` and ends before `end`, where its digits and a power of ten are doubles, so that one operation
// rounds it right: then `at` is behind it. Most numbers of tables are such. False: who knows more has to look at it.
bool short_number(const char*& at, const char* end, double& out);

} // namespace cairn::formats
