// What a recorder noted, for people and programs: as text, as JSON, and as a page with drawings. docs/tools.md has the forms.
#pragma once

#include "vm/explain/recorder.h"

#include <optional>
#include <string>
#include <vector>

namespace cairn::explain {

inline constexpr int kFormat = 1; // of the JSON

// Several lines, the last one ended.
std::string in_full(const Gradient& gradient);
// What its heaviest tape kept, and for which operators.
std::string kept_text(const Gradient& gradient);
// The intervals that its plan was made of, in lines of a table.
std::string profile_text(const Gradient& gradient);
// What it did, in sentences.
std::string in_short(const Gradient& gradient);
// One line, ended, on the calls since the last such line.
std::string in_a_line(const Calls& calls);

// An object without line breaks.
std::string json(const Gradient& gradient);
// Of all that are kept, and one that is in progress.
std::string json(const Recorder& recorder, const std::optional<Gradient>& unfinished);

// A document that needs no other, for light and dark screens.
std::string page(const Recorder& recorder, const std::optional<Gradient>& unfinished);
// What is in it, an element with a style of its own.
std::string section(const Recorder& recorder, const std::optional<Gradient>& unfinished);
// The drawing of one gradient, an SVG element.
std::string drawing(const Gradient& gradient);

// --- shared by the forms
struct Row {
  std::string name, words; // no name: more on the row before
};
std::vector<Row> rows(const Gradient& gradient);
std::vector<Row> rows(const Tiers& tiers);
std::string grouped(std::uint64_t number);       // 1,234,567
std::string abbreviated(double number);          // 1.23 M
std::string bytes_text(std::int64_t bytes);      // 512 bytes, 12.3 KiB, 34.1 MiB
std::string seconds_text(double seconds);        // 12.3 s, 4.56 ms
std::string size_text(std::uint64_t bytes);      // 512KiB, 35MiB, as options take it, never less
std::string size_in_kib(std::uint64_t bytes);    // 35840KiB, likewise
std::string calls_text(const Calls::Sums& sums); // "1,200 to 1,300 steps, replay 1.0000, 3.2 MiB at the peak"

} // namespace cairn::explain
