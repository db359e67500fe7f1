// Number parsing by from_chars, so that no locale and no trailing text gets in; the command lines themselves are CLI11's.
#include "common/arguments.h"

#include "common/exit_codes.h"
#include "common/files.h"
#include "common/manual.h"
#include "common/writing.h"
#include "vm/text/sizes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iostream>
#include <numeric>
#include <sstream>
#include <utility>

namespace cairn::tools {

namespace {

// Thrown by an option that wants a text shown and nothing else done.
struct Shown {
  std::string text;
};

int show(std::string_view text) { return write_output(text) ? kDone : kBadUsage; }

} // namespace

void check_libraries(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (!is_folder(folder)) throw UsageError("--library: no folder \"" + folder + "\"");
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const text::Size size = text::parse_size(text);
  if (size.fault != text::Size::Fault::none || size.bytes == 0 || size.bytes >= std::uint64_t{1} << 63) return std::nullopt;
  return size.bytes;
}

std::optional<double> parse_time(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"sec", 1}, {"min", 60}, {"h", 3600}};
  double number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [name, factor] : kUnits)
    if (name == unit && number > 0) return number * factor;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(count) : std::nullopt;
}

namespace {

// How many letters are wrong, missing or too many.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

// What is left out at the end is no more than one slip.
std::size_t difference(std::string_view letters, std::string_view known) {
  constexpr std::size_t kLeast = 3; // letters that say which
  return letters.size() >= kLeast && known.starts_with(letters) ? 1 : distance(letters, known);
}

// The complaint about the first word that looks like an option and is none; nothing if there is no such word.
std::optional<std::string> unknown_option(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i].substr(0, arguments[i].find('='));
    if (name.size() < 2 || name[0] != '-') continue;
    if (const CLI::Option* option = app.get_option_no_throw(name); option != nullptr) {
      if (name == arguments[i] && option->get_items_expected_min() > 0) ++i; // its value
      continue;
    }
    std::string_view letters = std::string_view(name).substr(std::min(name.find_first_not_of('-'), name.size()));
    std::string best;
    std::size_t least = letters.size() / 3 + 1; // more than that is no slip
    for (const CLI::Option* option : app.get_options())
      for (const std::string& known : option->get_lnames())
        if (std::size_t d = difference(letters, known); d < least || (d == least && (best.empty() || known < best))) {
          least = d;
          best = known;
        }
    if (name == "--threads" || name == "-j")
      return "there is no option " + name +
             ": a thread for each processor that the process may use; 'taskset -c 0-3 vmrun ...' gives it four";
    return "there is no option " + name + (best.empty() ? "" : "; did you mean --" + best + "?");
  }
  return std::nullopt;
}

} // namespace

std::size_t first_operand(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].size() > 1 && arguments[i][0] == '-') {
    if (arguments[i] == "--") return i + 1;
    const CLI::Option* option = app.get_option_no_throw(arguments[i]);
    i += option != nullptr && option->get_items_expected_min() > 0 ? 2 : 1;
  }
  return std::min(i, arguments.size());
}

std::optional<int> parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments)
    if (argument.size() > 3 && argument.starts_with("--") && argument.find('=') == argument.size() - 1)
      return bad_usage(app.get_name(), argument.substr(0, argument.size() - 1) + " needs a value");
  for (std::size_t i = 0; i < first_operand(app, arguments); ++i)
    if (const std::string name = arguments[i].substr(0, arguments[i].find('=')); name.size() < arguments[i].size())
      if (const CLI::Option* option = app.get_option_no_throw(name); option != nullptr && option->get_disable_flag_override())
        return bad_usage(app.get_name(), name + " takes no value");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::Success& shown) {
    std::ostringstream text;
    app.exit(shown, text, text);
    return show(text.str());
  } catch (const Shown& shown) {
    return show(shown.text);
  } catch (const CLI::ExtrasError& e) {
    return bad_usage(app.get_name(), unknown_option(app, arguments).value_or(e.what()));
  } catch (const CLI::ParseError& e) {
    return bad_usage(app.get_name(), e.what());
  }
}

int bad_usage(std::string_view tool, std::string_view message) {
  complain(std::string(tool) + ": error: " + std::string(message) + "\n" + std::string(tool) + " --help shows the options\n");
  return kBadUsage;
}

void add_common_options(CLI::App& app, const Conduct& conduct) {
  app.set_help_flag("-h,--help", "show this text");
  app.set_version_flag("--version", app.get_name() + " (Cairn) " + version_text(), "show the version");
  app.add_flag_callback(
      "--help-man", [&app, conduct] { throw Shown{manual_page(app, conduct)}; }, "show the manual page, for man");
  app.add_option_function<std::string>(
         "--help-completion", [&app, conduct](const std::string& shell) { throw Shown{completion(app, conduct, shell).value()}; },
         "show what completes the command line in a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  app.get_formatter()->column_width(34);
}

} // namespace cairn::tools
