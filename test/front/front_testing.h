// What the tests of the front share: a program as core text, or its complaint as "LINE:COLUMN: message".
#pragma once

#include "compiler/compiler.h"
#include "compiler/front/core_text.h"
#include "vm/text/diagnostic.h"

#include <fmt/format.h>

#include <string>

namespace front_testing {

inline std::string complaint_text(const cairn::compiler::Failure& failure) {
  const cairn::text::Span& span = failure.diagnostic.span;
  auto position = cairn::text::position_of(failure.source.text, span.begin);
  return fmt::format("{}:{}: {}", position.line, position.column, failure.diagnostic.message);
}

// The core of a program, without its last newline; or the complaint.
inline std::string core(std::string text, const cairn::compiler::Options& options = {}) {
  try {
    std::string out = cairn::compiler::core_text(cairn::compiler::expand("test.scm", std::move(text), options));
    if (!out.empty()) out.pop_back();
    return out;
  } catch (const cairn::compiler::Failure& failure) {
    return complaint_text(failure);
  }
}

// The complaint about a program; empty if there is none.
inline std::string complaint(std::string text) {
  try {
    cairn::compiler::expand("test.scm", std::move(text), {});
    return {};
  } catch (const cairn::compiler::Failure& failure) {
    return complaint_text(failure);
  }
}

inline std::string repeat(const std::string& piece, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += piece;
  return out;
}

} // namespace front_testing
