// The module's constants: equal data are one constant, in order of first use.
#pragma once

#include "compiler/back/anf.h"

#include <unordered_map>

namespace cairn::compiler::back {

class ConstantPool {
public:
  explicit ConstantPool(bytecode::Module& module); // those that it has are found again
  std::uint32_t of(const Literal& literal);
  std::uint32_t of(const Datum& datum); // iterative: a quoted list may have any length

private:
  std::uint32_t add(bytecode::Constant constant);
  static std::string key(const bytecode::Constant& constant);
  std::uint32_t intern(bytecode::Constant constant);
  std::uint32_t pair(std::uint32_t car, std::uint32_t cdr);

  bytecode::Module& module_;
  std::unordered_map<std::string, std::uint32_t> known_;     // by kind and contents
  std::unordered_map<std::uint64_t, std::uint32_t> pairs_;   // by their parts
  std::unordered_map<const Datum*, std::uint32_t> by_datum_; // compound data that may come again
};

} // namespace cairn::compiler::back
