// The index of the embedded library, made once a process by a scan for definitions at the start of a line.
#include "compiler/front/library.h"

#include "compiler/front/builtins.h"

#include <unordered_map>
#include <vector>

namespace cairn::compiler {

namespace {

constexpr std::string_view kDefine = "(define ";

// The next word at `at`, which moves behind it; empty at the parenthesis that closes the header.
std::string_view next_word(std::string_view text, std::size_t& at) {
  std::size_t begin = text.find_first_not_of(" \n", at);
  if (begin == std::string_view::npos) return {};
  at = text.find_first_of(" \n()", begin);
  return text.substr(begin, at - begin);
}

LibraryDefinition describe(std::string_view text, std::size_t begin, std::size_t end) {
  LibraryDefinition d{{}, 0, 0, begin, end, false, 0, kMany};
  std::size_t at = begin + kDefine.size();
  d.procedure = text[at] == '(';
  if (d.procedure) ++at;
  d.name = next_word(text, at);
  if (!d.procedure) return d;
  for (std::string_view word = next_word(text, at); !word.empty(); word = next_word(text, at)) {
    if (word == ".") return d;
    ++d.least;
  }
  d.most = d.least;
  return d;
}

struct Index {
  std::vector<LibraryDefinition> all;
  std::unordered_map<std::string_view, std::size_t> by_name;

  Index() {
    auto files = library_files();
    for (std::uint32_t f = 0; f < files.size(); ++f) {
      std::string_view text = files[f].text;
      auto next = [text](std::size_t from) {
        if (from == 0 && text.starts_with(kDefine)) return from;
        std::size_t line = text.find("\n(", from);
        return line == std::string_view::npos ? text.size() : line + 1;
      };
      for (std::size_t begin = next(0); begin < text.size();) {
        std::size_t end = next(begin + 1);
        LibraryDefinition d = describe(text, begin, end);
        d.file = f;
        d.number = static_cast<std::uint32_t>(all.size());
        by_name.emplace(d.name, all.size());
        all.push_back(d);
        begin = end;
      }
    }
  }
};

const Index& index() {
  static const Index i;
  return i;
}

} // namespace

std::span<const LibraryDefinition> library_definitions() { return index().all; }

const LibraryDefinition* find_library_definition(std::string_view name) {
  auto it = index().by_name.find(name);
  return it == index().by_name.end() ? nullptr : &index().all[it->second];
}

} // namespace cairn::compiler
