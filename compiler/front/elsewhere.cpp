// How names are looked up in the tables of names from elsewhere.
#include "compiler/front/elsewhere.h"

#include "compiler/front/elsewhere_tables.h"

#include <string>

namespace cairn::compiler {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Small letters without what joins words.
std::string words_of(std::string_view name) {
  std::string words;
  for (const char c : name)
    if (c != '-' && c != '_') words += lowered(c);
  return words;
}

// mse-loss for mse_loss, data-loader for DataLoader, clip-grad-norm for clip_grad_norm_: words are put together one way there and
// another way here. Signs such as -= and names of one letter have no words.
bool has_words(std::string_view name) { return name.size() > 1 && is_letter(name.front()); }

} // namespace

std::array<std::span<const Elsewhere>, 4> names_elsewhere() {
  return {elsewhere_in_languages(), elsewhere_in_tensors(), elsewhere_in_networks(), elsewhere_in_data()};
}

std::string_view instead_of(std::string_view name) {
  std::string_view bare = name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  for (std::string_view wanted : {name, bare})
    for (const auto table : names_elsewhere())
      for (const Elsewhere& e : table)
        if (e.name == wanted) return e.instead;
  if (!has_words(bare)) return {};
  const std::string words = words_of(bare);
  for (const auto table : names_elsewhere())
    for (const Elsewhere& e : table)
      if (has_words(e.name) && words_of(e.name) == words) return e.instead;
  return {};
}

} // namespace cairn::compiler
