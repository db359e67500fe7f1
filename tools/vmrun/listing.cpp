// A disassembly is a line about the module, which names its entry, and blocks that begin with "function #INDEX:NAME: ...".
// What an expression is made of follows its entry; procedures of the library among it are left out.
#include "listing.h"

#include <charconv>
#include <vector>

namespace cairn::tools {

namespace {

constexpr std::string_view kStart = "\nfunction #";

struct Block {
  unsigned index = 0;
  std::string_view header, text;
};

unsigned number_at(std::string_view text) {
  unsigned n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::vector<Block> blocks_of(std::string_view listing) {
  std::vector<Block> blocks;
  for (std::size_t at = listing.find(kStart); at != std::string_view::npos;) {
    std::size_t next = listing.find(kStart, at + 1);
    std::string_view text = listing.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    blocks.push_back({number_at(text.substr(kStart.size() - 1)), text.substr(0, text.find('\n')), text});
    at = next;
  }
  return blocks;
}

} // namespace

std::string piece_of_listing(std::string_view listing, std::string_view code) {
  std::vector<Block> blocks = blocks_of(listing);
  // What was defined last comes last. A procedure with rules stands beside them, and beside what has its value and the rule that
  // was left out, which have its name.
  const std::string wanted = ":" + std::string(code) + ": parameters", rule = " rule of " + std::string(code) + ": parameters";
  const auto is = [&](std::size_t i, std::string_view name) {
    return i < blocks.size() && blocks[i].header.find(name) != std::string_view::npos;
  };
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!is(i, wanted)) continue;
    const auto belongs = [&](std::size_t at) { return is(at, wanted) || is(at, rule); };
    std::size_t first = i;
    bool rules = is(i + 1, rule);
    for (; first > 0 && belongs(first - 1); --first) rules = rules || is(first - 1, rule);
    if (!rules) return std::string(blocks[i].text) + "\n";
    std::string out;
    for (; belongs(first); ++first) out += std::string(blocks[first].text) + "\n";
    return out;
  }
  constexpr std::string_view kEntry = "starts with function ";
  std::size_t at = listing.find(kEntry);
  unsigned entry = at == std::string_view::npos ? 0 : number_at(listing.substr(at + kEntry.size()));
  std::string out;
  for (const Block& b : blocks)
    if (b.index >= entry && b.header.find(", library") == std::string_view::npos) out += std::string(b.text) + "\n";
  return out;
}

} // namespace cairn::tools
