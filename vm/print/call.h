// What the primitives share: typed access to their arguments with uniform complaints, ownership of values under construction, and
// the declarations of all of them, derived from primitives.def.
#pragma once

#include "vm/bytecode/instruction.h"
#include "vm/print/environment.h"
#include "vm/print/printer.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace cairn::print {

// The work of a byte that is read or folded, and not just copied.
inline constexpr std::uint64_t kWorkOfReading = 8;

// One run of a primitive. Accessors throw ProgramError where an argument is not what is wanted.
class Call {
public:
  Call(bytecode::Primitive primitive, const value::Value* arguments, unsigned count, Environment& environment)
      : primitive_(primitive), arguments_(arguments), count_(count), environment_(environment) {}

  Environment& environment() const { return environment_; }
  // Bytes or objects that the primitive is about to look at or to make count as work.
  void spend(std::uint64_t work) const { environment_.meter().spend(work); }
  value::Heap& heap() const { return environment_.heap(); }
  unsigned count() const { return count_; }
  value::Value argument(unsigned i) const { return arguments_[i]; }

  std::string_view name() const; // as users know it
  [[noreturn]] void complain(std::string_view message) const;
  [[noreturn]] void wrong(unsigned i, std::string_view expected) const;

  std::uint32_t character(unsigned i) const;
  const value::Text* string(unsigned i) const;
  const value::Text* symbol(unsigned i) const;
  value::Value number(unsigned i) const; // the primal: a flonum or an exact integer
  // An exact integer or an integer-valued flonum, within the range of exact integers.
  std::int64_t integer(unsigned i, std::string_view expected) const;
  // An index from `first` to `last`, both allowed; `last` below `first` says that there is none.
  std::uint64_t index(unsigned i, std::int64_t first, std::int64_t last) const;
  unsigned radix(unsigned i) const; // 10 if there is no such argument

private:
  bytecode::Primitive primitive_;
  const value::Value* arguments_;
  unsigned count_;
  Environment& environment_;
};

using value::Owned;

// A string under construction, of so many bytes in the end. Long ones take a while, in which the program may be stopped.
class StringBuilder {
public:
  StringBuilder(const Call& call, std::uint64_t bytes);
  ~StringBuilder() {
    if (text_ != nullptr) heap_.discard(text_);
  }
  StringBuilder(const StringBuilder&) = delete;
  StringBuilder& operator=(const StringBuilder&) = delete;
  void put(std::string_view utf8);
  // All bytes are there.
  value::Value take() { return value::of_other(std::exchange(text_, nullptr)); }

private:
  value::Heap& heap_;
  const ops::Meter& meter_;
  value::Text* text_;
  std::size_t at_ = 0, since_poll_ = 0;
};

// One function a primitive; its arguments are within the limits of primitives.def.
namespace primitives {
#define X(id, scheme, least, most, takes_long) value::Value id(const Call& call);
#include "vm/bytecode/primitives.def"
#undef X
} // namespace primitives

} // namespace cairn::print
