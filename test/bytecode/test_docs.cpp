// docs/bytecode.md is kept in step with the tables it describes.
#include "vm/bytecode/instruction.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>

using namespace cairn::bytecode;

namespace {

const std::string& page() {
  static const std::string text = [] {
    std::ifstream file(CAIRN_TEST_DATA "/../../docs/bytecode.md");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return text;
}
void check_row(const std::string& row) {
  CHECK_MESSAGE(page().find("\n" + row + "\n") != std::string::npos, "docs/bytecode.md lacks: ", row);
}

// A bar inside a table is escaped.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) (out += c == '|' ? "\\" : "") += c;
  return out;
}

} // namespace

TEST_CASE("every opcode is in the page, with its roles and its effect") {
  for (const OpcodeInfo& o : kOpcodes) check_row(fmt::format("| `{}` | `{}` | {} |", o.name, o.roles, cell(o.text)));
}

TEST_CASE("every primitive is in the page, with its numbers of arguments") {
  for (const PrimitiveInfo& p : kPrimitives)
    check_row(p.least == p.most ? fmt::format("| `{}` | {} |", p.name, p.least)
                                : fmt::format("| `{}` | {} to {} |", p.name, p.least, p.most));
}

TEST_CASE("every run operator is in the page, with its parameters") {
  for (const RunOperatorInfo& r : kRunOperators) check_row(fmt::format("| `{}` | {} |", r.name, r.parameters));
}
