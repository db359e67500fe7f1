// Damaged modules with a right length and checksum, so that what is behind them is looked at.
#pragma once

#include "vm/bytecode/bytes.h"
#include "vm/bytecode/reseal.h"

inline bool reseal(std::vector<std::byte>& bytes) {
  std::string error;
  if (bytes.size() >= 24) cairn::bytecode::set_u64(bytes, 16, bytes.size());
  return cairn::bytecode::reseal(bytes, error);
}
