// The module's constants: equal data are one constant, in order of first use.
#pragma once

#include "compiler/back/anf.h"

namespace cairn::compiler::back {

class ConstantPool {
public:
  // New ones are added to the tables of `module`, which counts on from those of `ground`.
  ConstantPool(bytecode::Module& module, Ground& ground) : module_(module), ground_(ground) {}
  std::uint32_t of(const Literal& literal);
  std::uint32_t of(const Datum& datum); // iterative: a quoted list may have any length

private:
  std::uint32_t add(bytecode::Constant constant);
  static Text key(const bytecode::Constant& constant);
  std::uint32_t intern(bytecode::Constant constant);
  std::uint32_t pair(std::uint32_t car, std::uint32_t cdr);

  bytecode::Module& module_;
  Ground& ground_;
  Charge charge_;                             // what the module holds
  Map<const Datum*, std::uint32_t> by_datum_; // of literals that are pairs and vectors, which may come again
};

} // namespace cairn::compiler::back
