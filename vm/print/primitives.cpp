// The entry to all primitives, and how they look at their arguments.
#include "vm/print/primitives.h"

#include "vm/print/call.h"
#include "vm/print/kept_text.h"
#include "vm/text/number.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace cairn::print {

using namespace value;

namespace {

constexpr Value (*kFunctions[])(const Call&) = {
#define X(id, scheme, least, most, takes_long) &primitives::id,
#include "vm/bytecode/primitives.def"
#undef X
};

std::string shown(Value v) { return v.is_flonum() ? text::format_flonum(v.flonum()) : text::format_integer(v.integer()); }

} // namespace

// %string-append2 is string-append to users.
std::string_view Call::name() const {
  std::string_view name = bytecode::kPrimitives[static_cast<std::size_t>(primitive_)].name;
  if (name.front() == '%') {
    name.remove_prefix(1);
    while (name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  }
  return name;
}

void Call::complain(std::string_view message) const { throw ProgramError(fmt::format("{}: {}", name(), message)); }

void Call::wrong(unsigned i, std::string_view expected) const {
  complain(fmt::format("expected {}, got {}", expected, abbreviated(arguments_[i], environment_)));
}

std::uint32_t Call::character(unsigned i) const {
  if (!is_character(arguments_[i])) wrong(i, "a character");
  return code_point(arguments_[i]);
}

const Text* Call::string(unsigned i) const {
  if (arguments_[i].is_flonum() || arguments_[i].is_integer())
    complain(
        fmt::format("expected a string, got {}; (number->string x) is the text of a number, (format \"~a\" x) that of any value",
                    abbreviated(arguments_[i], environment_)));
  if (!is_string(arguments_[i])) wrong(i, "a string");
  return as_text(arguments_[i]);
}

const Text* Call::symbol(unsigned i) const {
  if (!is_symbol(arguments_[i])) wrong(i, "a symbol");
  return as_text(arguments_[i]);
}

Value Call::number(unsigned i) const {
  Value v = environment_.primal(arguments_[i]);
  if (!v.is_flonum() && !v.is_integer()) wrong(i, "a number");
  return v;
}

std::int64_t Call::integer(unsigned i, std::string_view expected) const {
  Value v = environment_.primal(arguments_[i]);
  if (v.is_integer()) return v.integer();
  if (!v.is_flonum() || v.flonum() != std::trunc(v.flonum()) || !(std::abs(v.flonum()) <= static_cast<double>(kMostInteger)))
    wrong(i, expected);
  return static_cast<std::int64_t>(v.flonum());
}

std::uint64_t Call::index(unsigned i, std::int64_t first, std::int64_t last) const {
  std::int64_t n = integer(i, "an index");
  if (last < first) complain(fmt::format("index {} is outside an empty string", n));
  if (n < first || n > last) complain(fmt::format("index {} is outside {}..{}", n, first, last));
  return static_cast<std::uint64_t>(n);
}

unsigned Call::radix(unsigned i) const {
  if (i >= count_) return 10;
  std::int64_t radix = integer(i, "a radix of 2, 8, 10 or 16");
  if (radix != 2 && radix != 8 && radix != 10 && radix != 16) wrong(i, "a radix of 2, 8, 10 or 16");
  return static_cast<unsigned>(radix);
}

StringBuilder::StringBuilder(const Call& call, std::uint64_t bytes) : heap_(call.heap()), meter_(call.environment().meter()) {
  call.spend(bytes);
  text_ = heap_.make_text(bytes);
}

void StringBuilder::put(std::string_view utf8) {
  constexpr std::size_t kPiece = 1 << 20;
  while (!utf8.empty()) {
    const std::string_view piece = utf8.substr(0, kPiece);
    std::copy(piece.begin(), piece.end(), text_->data() + at_);
    for (char c : piece) text_->length += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    at_ += piece.size();
    utf8.remove_prefix(piece.size());
    if ((since_poll_ += piece.size()) < kPiece) continue;
    since_poll_ = 0;
    meter_.poll();
  }
}

Value run_primitive(bytecode::Primitive primitive, const Value* arguments, unsigned count, Environment& environment) {
  try {
    return kFunctions[static_cast<std::size_t>(primitive)](Call(primitive, arguments, count, environment));
  } catch (const std::bad_alloc&) {
    throw BudgetExceeded(fmt::format("out of memory in {}", bytecode::kPrimitives[static_cast<std::size_t>(primitive)].name));
  }
}

// --- numbers
namespace primitives {

namespace {

template <class F> Value rounded(const Call& call, F&& round_flonum) {
  Value v = call.number(0);
  return v.is_integer() ? v : flonum(round_flonum(v.flonum()));
}

} // namespace

Value floor(const Call& call) {
  return rounded(call, [](double d) { return std::floor(d); });
}
Value ceiling(const Call& call) {
  return rounded(call, [](double d) { return std::ceil(d); });
}
Value truncate(const Call& call) {
  return rounded(call, [](double d) { return std::trunc(d); });
}
Value round(const Call& call) { // halves go to the even neighbour: the rounding mode is never changed
  return rounded(call, [](double d) { return std::nearbyint(d); });
}

Value inexact_to_exact(const Call& call) {
  Value v = call.number(0);
  if (v.is_integer()) return v;
  double d = v.flonum();
  if (!std::isfinite(d) || d != std::trunc(d)) call.complain(fmt::format("{} is not an integer", shown(v)));
  if (d < static_cast<double>(kLeastInteger) || d > static_cast<double>(kMostInteger))
    call.complain(fmt::format("{} does not fit into the 48 bits of an exact integer", shown(v)));
  return value::integer(static_cast<std::int64_t>(d));
}

Value number_to_string(const Call& call) {
  Value v = call.number(0);
  unsigned radix = call.radix(1);
  if (v.is_integer()) return call.heap().make_string(text::format_integer(v.integer(), radix));
  if (radix != 10) call.complain(fmt::format("the flonum {} can be written in radix 10 only", shown(v)));
  return call.heap().make_string(text::format_flonum(v.flonum()));
}

Value text_of(const Call& call) {
  constexpr std::size_t kMost = 0xFFFFFFF0;
  const Style style = call.argument(1) == kFalse ? Style::display : Style::write;
  const KeptText text = print::text_of(call.argument(0), call.environment(), kMost, style);
  if (text.of_recorded) throw RecordedError::of_elements("");
  call.spend(text.text.size());
  return call.heap().make_string(text.text);
}

Value fixed(const Call& call) {
  constexpr std::int64_t kMost = 100;
  const Value v = call.number(0);
  const std::int64_t digits = call.integer(1, "a number of digits");
  if (digits < 0 || digits > kMost) call.complain(fmt::format("{} digits; at most {} are written", digits, kMost));
  const double d = v.is_integer() ? static_cast<double>(v.integer()) : v.flonum();
  return call.heap().make_string(std::isfinite(d) ? fmt::format("{:.{}f}", d, digits) : text::format_flonum(d));
}

Value string_to_number(const Call& call) {
  const std::string_view text = call.string(0)->view();
  const unsigned radix = call.radix(1);
  // Reading one cannot be stopped on the way, so it must be short.
  constexpr std::size_t kMost = 1 << 20;
  if (text.size() > kMost)
    call.complain(fmt::format("a string of {} bytes; a number is written with at most {}", text.size(), kMost));
  call.spend(kWorkOfReading * text.size());
  auto number = text::parse_number(text, radix);
  if (!number) return kFalse;
  return number->exact ? integer_unchecked(number->integer) : flonum(number->flonum);
}

} // namespace primitives

} // namespace cairn::print
