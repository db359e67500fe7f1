// Whole texts of values, for hosts.
#pragma once

#include "vm/print/printer.h"
#include "vm/value/charged.h"

#include <string>

namespace cairn::print {

// Text that is charged for as long as it is held.
struct KeptText {
  value::Charged charged;
  std::string text;
  bool of_recorded = false; // a tensor without elements (vm/machine/recorded.h) is in it
};
// The text of a value as it is printed, at most about `most` bytes, "..." where cut. Can be stopped, and go over the budget,
// if it may become long.
KeptText text_of(value::Value v, const Environment& environment, std::size_t most, Style style = Style::write);

} // namespace cairn::print
