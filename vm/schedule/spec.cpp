// The text of a schedule: "binomial,base=64,snapshots=8". Read by the language, the command line and the C API alike, so every
// message says what would have been right.
#include "vm/schedule/generators.h"
#include "vm/text/sizes.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <utility>

namespace cairn::schedule {
namespace {

// Options that a schedule may take.
enum : unsigned { kNoOptions = 0, kBase = 1, kSnapshots = 2, kPasses = 4, kMemory = 8 };

struct Name {
  std::string_view text;
  Spec::Kind kind;
  Generator generator;
  unsigned options;
  bool takes(unsigned option) const { return (options & option) != 0; }
};

constexpr Name kNames[] = {
#define SCHEDULE(id, name, generator, options) {name, Spec::Kind::id, Generator::generator, options},
#include "vm/schedule/schedules.def"
#undef SCHEDULE
};

// Positions are 64-bit step counts; a larger base case would be no base case but a run.
constexpr std::uint64_t kMostBase = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 48;

// In the largest unit that divides it.
std::string memory_text(std::uint64_t bytes) {
  for (const auto& [unit, power] : {std::pair("GiB", 30), std::pair("MiB", 20), std::pair("KiB", 10)})
    if (bytes % (std::uint64_t{1} << power) == 0) return fmt::format("{}{}", bytes >> power, unit);
  return fmt::format("{}", bytes);
}

const Name* find(Spec::Kind kind) {
  for (const Name& name : kNames)
    if (name.kind == kind) return &name;
  return nullptr;
}

// "tape, bisection and auto"
std::string all_names() {
  std::string text;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (i != 0) text += i + 1 == std::size(kNames) ? " and " : ", ";
    text += kNames[i].text;
  }
  return text;
}

std::string keys_of(const Name& name) {
  std::string keys;
  if (name.takes(kBase)) keys += "base=N";
  if (name.takes(kSnapshots)) keys += keys.empty() ? "snapshots=D" : ", snapshots=D";
  if (name.takes(kPasses)) keys += keys.empty() ? "passes=R" : ", passes=R";
  if (name.takes(kMemory)) keys += keys.empty() ? "memory=BYTES" : ", memory=BYTES";
  return keys;
}

// Takes "KEY=VALUE" apart and puts the value where it belongs.
bool parse_key(std::string_view part, const Name& name, Spec& spec, std::string& error) {
  const std::string taken = keys_of(name);
  const auto equals = part.find('=');
  const std::string_view key = part.substr(0, equals);
  const bool known = (key == "base" && name.takes(kBase)) || (key == "snapshots" && name.takes(kSnapshots)) ||
                     (key == "passes" && name.takes(kPasses)) || (key == "memory" && name.takes(kMemory));
  if (!known) {
    error = taken.empty() ? fmt::format("schedule '{}' takes no options, but '{}' was given", name.text, part)
                          : fmt::format("schedule '{}' has no option '{}'; it takes {}", name.text, key, taken);
    return false;
  }
  std::uint64_t value = 0;
  const std::string_view digits = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
  if (key == "memory") {
    const text::Size size = text::parse_size(digits);
    if (size.fault == text::Size::Fault::unit) {
      error = fmt::format(
          "schedule option '{}': there is no unit '{}'; there are KiB, MiB, GiB, TiB, and kB, MB, GB, TB of thousands", part,
          size.unit);
      return false;
    }
    if (size.fault == text::Size::Fault::number) {
      error = fmt::format("schedule option '{}' needs a size, as in 'memory=64MiB'", part);
      return false;
    }
    value = size.bytes;
  } else if (const auto [rest, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
             code != std::errc{} || rest != digits.data() + digits.size()) {
    error = fmt::format("schedule option '{}' needs a whole number, as in '{}=64'", part, key);
    return false;
  }
  std::uint64_t& number = key == "base"        ? spec.base
                          : key == "snapshots" ? spec.snapshots
                          : key == "passes"    ? spec.passes
                                               : spec.memory;
  const bool repeated = key == "base" ? spec.base_given : number != 0;
  if (repeated) {
    error = fmt::format("schedule option '{}' is given twice", key);
    return false;
  }
  if (key == "base") {
    if (value < kLeastBase || value > kMostBase) {
      error = fmt::format("schedule option '{}': a base case has {} to {} steps", part, kLeastBase, kMostBase);
      return false;
    }
    number = value;
    spec.base_given = true;
    return true;
  }
  if (value == 0) {
    error = fmt::format("schedule option '{}': the least is {}=1", part, key);
    return false;
  }
  if (key == "memory" && value > kMostMemory) {
    error = fmt::format("schedule option '{}': the most is {}={}", part, key, memory_text(kMostMemory));
    return false;
  }
  number = value;
  if (spec.snapshots != 0 && spec.passes != 0) {
    error = "schedule options 'snapshots' and 'passes' exclude each other: each is computed from the other";
    return false;
  }
  return true;
}

} // namespace

std::string_view name_of(Spec::Kind kind) {
  const Name* const name = find(kind);
  return name != nullptr ? name->text : std::string_view();
}

Generator generator_of(Spec::Kind kind) {
  const Name* const name = find(kind);
  return name != nullptr ? name->generator : Generator::none;
}

bool parse(std::string_view text, Spec& spec, std::string& error) {
  const auto comma = text.find(',');
  const std::string_view word = text.substr(0, comma);
  for (const Name& name : kNames) {
    if (name.text != word) continue;
    Spec result;
    result.kind = name.kind;
    std::string_view rest = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    for (bool more = comma != std::string_view::npos; more;) {
      const auto next = rest.find(',');
      const std::string_view part = rest.substr(0, next);
      if (part.empty()) {
        error = fmt::format("schedule '{}' has a comma with no option beside it", text);
        return false;
      }
      if (!parse_key(part, name, result, error)) return false;
      more = next != std::string_view::npos;
      if (more) rest = rest.substr(next + 1);
    }
    spec = result;
    return true;
  }
  error = fmt::format("there is no schedule '{}'; there are {}", word, all_names());
  return false;
}

std::string to_string(const Spec& spec) {
  std::string text{name_of(spec.kind)};
  if (spec.base_given) text += fmt::format(",base={}", spec.base);
  if (spec.snapshots != 0) text += fmt::format(",snapshots={}", spec.snapshots);
  if (spec.passes != 0) text += fmt::format(",passes={}", spec.passes);
  if (spec.memory != 0) text += fmt::format(",memory={}", memory_text(spec.memory));
  return text;
}

} // namespace cairn::schedule
