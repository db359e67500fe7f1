// The library and the table of builtins fit together.
#include "compiler/front/builtins.h"
#include "compiler/front/library.h"
#include "test/front/front_testing.h"
#include "vm/bytecode/tensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

using namespace cairn::compiler;
using front_testing::complaint;
using front_testing::core;

TEST_CASE("every library definition expands, and has a name of its own") {
  CHECK(library_definitions().size() > 150);
  for (const LibraryDefinition& d : library_definitions()) {
    CAPTURE(d.name);
    CHECK(find_library_definition(d.name) == &d);
    if (!d.name.starts_with('%')) CHECK(complaint(std::string(d.name)) == "");
  }
}

bool is_tensor_operator(std::string_view name) {
  return std::ranges::any_of(cairn::bytecode::tensor_operators(),
                             [&](const cairn::bytecode::TensorInfo& t) { return t.name == name; });
}

TEST_CASE(
    "a builtin is a value: itself where its operands are fixed or it works on tensors, else a library procedure with its name") {
  for (const Builtin& b : all_builtins()) {
    if (b.name.starts_with('%')) continue;
    CAPTURE(b.name);
    bool fixed = b.shape == Shape::direct && (b.least == b.most || is_tensor_operator(b.name));
    CHECK(core(std::string(b.name)) == (fixed ? std::string(b.core) : fmt::format("library:{}", b.name)));
  }
}

TEST_CASE("a definition for a number of operands, or a rule with a name that is shown, accompanies one that users call") {
  for (const LibraryDefinition& d : library_definitions()) {
    auto slash = d.name.rfind('/');
    if (!d.name.starts_with('%') || slash == std::string_view::npos) continue;
    CAPTURE(d.name);
    std::string name(d.name.substr(1, slash - 1));
    CHECK(find_library_definition(name) != nullptr);
    CHECK(d.least == d.most);
    const std::string_view last = d.name.substr(slash + 1);
    CHECK((last == std::to_string(d.least) || last == "forward" || last == "reverse"));
  }
}
