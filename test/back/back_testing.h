// What the tests of the back share: programs compiled, verified, and shown as instructions or A-normal form.
#pragma once

#include "compiler/compiler.h"
#include "vm/bytecode/disassembler.h"
#include "vm/bytecode/verifier.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace back_testing {

namespace bytecode = cairn::bytecode;
namespace compiler = cairn::compiler;

inline compiler::Options at_level(int level) {
  compiler::Options options;
  options.level = level;
  return options;
}

inline bytecode::Module compiled(const std::string& text, const compiler::Options& options) {
  return compiler::generate(compiler::expand("test.scm", text, options), options);
}
inline bytecode::Module compiled(const std::string& text, int level = 2) { return compiled(text, at_level(level)); }

inline std::string ir(const std::string& text, const compiler::Options& options) {
  return compiler::intermediate_text(compiler::expand("test.scm", text, options), options);
}
inline std::string ir(const std::string& text, int level = 2) { return ir(text, at_level(level)); }

// Why the verifier refuses a module; empty if it does not.
inline std::string complaint(const bytecode::Module& module) {
  std::vector<bytecode::FunctionFacts> facts;
  bytecode::VerifyError error;
  if (bytecode::verify(module, facts, error)) return {};
  return fmt::format("function {} at {}: {}\n{}", error.function, error.pc, error.message, bytecode::disassemble(module));
}

// The instructions of the named function, one a line, without places in the source.
inline std::string listing(const bytecode::Module& module, const std::string& function) {
  std::string text = bytecode::disassemble(module), out;
  std::size_t at = text.find(":" + function + ": parameters");
  if (at == std::string::npos) return "no function " + function;
  at = text.find('\n', at) + 1;
  while (at < text.size() && text[at] != '\n') {
    std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.find(';') == std::string::npos) {
      std::string squeezed;
      for (char c : line)
        if (c != ' ' || (!squeezed.empty() && squeezed.back() != ' ')) squeezed += c;
      out += squeezed + '\n';
    }
    at = end + 1;
  }
  return out;
}

inline std::string listing(const std::string& text, const std::string& function, int level = 2) {
  return listing(compiled(text, level), function);
}

inline bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

} // namespace back_testing
