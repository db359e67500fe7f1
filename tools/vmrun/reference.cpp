// Searches through the text from its beginning: it is small.
#include "reference.h"

#include <algorithm>
#include <cctype>

namespace cairn::tools {

namespace {

struct Entry {
  std::string_view names; // with a blank between each two
  std::string_view text;
};

// The entry at the beginning of the text, which moves on to the next; an entry without names at the end.
Entry next_entry(std::string_view& text) {
  if (text.size() < 2) return {};
  std::string_view::size_type end = text.find("\n= ");
  std::string_view all = text.substr(0, end == std::string_view::npos ? end : end + 1);
  text.remove_prefix(all.size());
  std::string_view::size_type line = all.find('\n');
  std::string_view body = all.substr(line + 1);
  while (body.ends_with("\n\n")) body.remove_suffix(1);
  return {all.substr(2, line - 2), body};
}

bool among(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    std::string_view::size_type end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

bool contains(std::string_view text, std::string_view word) {
  auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// What stands in front of the example, and of that as much as a line takes.
std::string_view prose(std::string_view text) { return text.substr(0, text.find("\n  ")); }

std::string line_of(const Entry& entry) {
  constexpr std::size_t kWidth = 100;
  std::string text(prose(entry.text));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  // What is said of one name begins with it.
  std::string line = (entry.names.find(' ') == std::string_view::npos ? "" : std::string(entry.names) + " - ") + text;
  if (line.size() > kWidth) {
    line.resize(line.rfind(' ', kWidth - 4) == std::string::npos ? kWidth - 4 : line.rfind(' ', kWidth - 4));
    line += " ...";
  }
  return line + "\n";
}

} // namespace

std::string_view described(std::string_view name) {
  std::string_view text = reference_text();
  for (Entry entry = next_entry(text); !entry.names.empty(); entry = next_entry(text)) {
    if (among(entry.names, name)) return entry.text;
  }
  // relu for ReLU: capital letters are not remembered.
  text = reference_text();
  for (Entry entry = next_entry(text); !entry.names.empty(); entry = next_entry(text)) {
    if (among(in_small_letters(entry.names), in_small_letters(name))) return entry.text;
  }
  return {};
}

std::string apropos(std::string_view word) {
  std::string named, told;
  std::string_view text = reference_text();
  for (Entry entry = next_entry(text); !entry.names.empty(); entry = next_entry(text)) {
    if (contains(entry.names, word)) {
      named += line_of(entry);
    } else if (contains(prose(entry.text), word)) {
      told += line_of(entry);
    }
  }
  return named + told;
}

} // namespace cairn::tools
