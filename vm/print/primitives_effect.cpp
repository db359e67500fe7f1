// Primitives that reach outside the program: output, input, arguments, random numbers, capsules. All go through the environment,
// which sees to it that effects happen once.
#include "ops/operators/runtime.h"
#include "ops/random.h"
#include "vm/print/call.h"
#include "vm/print/tensors.h"
#include "vm/text/number.h"
#include "vm/text/utf8.h"
#include "vm/value/tensor_object.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cairn::print {

using namespace value;

namespace {

// The functions below use only operations that IEEE 754 fixes to the bit, so that random numbers are the same everywhere;
// those of the C library differ between machines in the last digit.

// Natural logarithm of x in (0, 1]: log x = e log 2 + 2 artanh((m - 1) / (m + 1)).
double fixed_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * 0.69314718055994531 + 2 * s * sum;
}

// cos(2 pi turns) of turns in [0, 1): the nearest quarter turn, and a Taylor series for what is left of it.
double fixed_cosine(double turns) {
  double quarters = std::floor(turns * 4 + 0.5);
  double angle = (turns * 4 - quarters) * 1.5707963267948966, square = angle * angle;
  double cosine = 1, sine = 1;
  for (int k = 18; k >= 2; k -= 2) {
    cosine = 1 - cosine * square / (k * (k - 1));
    sine = 1 - sine * square / (k * (k + 1));
  }
  sine *= angle;
  switch (static_cast<int>(quarters) % 4) {
  case 0:
    return cosine;
  case 1:
    return -sine;
  case 2:
    return -cosine;
  default:
    return sine;
  }
}

// Random numbers from the machine's counter, or from a key that the program gives.
class Draws {
public:
  Draws(const Call& call, unsigned at) : environment_(call.environment()), keyed_(call.count() > at) {
    if (keyed_) key_ = call.integer(at, "a key, which is an integer");
  }
  std::uint64_t bits() {
    return keyed_ ? ops::random::bits_of_key(key_, ops::random::Use::number, drawn_++) : environment_.random_bits();
  }
  double uniform() { return ops::random::uniform(bits(), 53); }

private:
  Environment& environment_;
  bool keyed_;
  std::int64_t key_ = 0;
  std::uint64_t drawn_ = 0;
};

// A short text.
void put(const Call& call, std::string_view text) {
  call.spend(text.size());
  call.environment().write(text);
}

// What is told of a run is looked at by people, in tables and curves: names are short, and there are not many at once.
constexpr std::size_t kMostReported = 64, kLongestName = 200;

std::string reported_name(const Call& call, Value v) {
  if (!is_symbol(v) && !is_string(v))
    call.complain(fmt::format("expected a name, a symbol or string, got {}", abbreviated(v, call.environment())));
  const std::string_view name = as_text(v)->view();
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (name.empty() || name.size() > kLongestName || name.front() == '#' || std::ranges::any_of(name, control))
    call.complain(fmt::format("{} is no name for a number: it takes 1 to {} bytes without line breaks, and no # at the beginning",
                              abbreviated(v, call.environment()), kLongestName));
  return std::string(name);
}

double reported_value(const Call& call, const std::string& name, Value given) {
  const Value v = call.environment().primal(given);
  if (v.is_flonum()) return v.flonum();
  if (v.is_integer()) return static_cast<double>(v.integer());
  if (!is_tensor(v))
    call.complain(
        fmt::format("expected a number or a tensor of one element for {}, got {}", name, abbreviated(given, call.environment())));
  const ops::Tensor& t = tensor_of(v);
  if (t.elements() != 1)
    call.complain(
        fmt::format("{} is a tensor of shape {}, which has not one element; say which number of it is meant, such as its "
                    "sumall, mean or max-value",
                    name, t.shape.text()));
  return ops::Runtime(*t.device()).read_numbers(t).front();
}

Value capsule(const Call& call) {
  if (!is_capsule(call.argument(0))) call.wrong(0, "a capsule");
  return call.argument(0);
}

} // namespace

namespace primitives {

// --- output
Value display(const Call& call) {
  print(call.argument(0), Style::display, call.environment());
  return kUnspecified;
}
Value write(const Call& call) {
  print(call.argument(0), Style::write, call.environment());
  return kUnspecified;
}
Value newline(const Call& call) {
  put(call, "\n");
  return kUnspecified;
}
Value write_char(const Call& call) {
  std::string text;
  text::append_code_point(text, call.character(0));
  put(call, text);
  return kUnspecified;
}
// Returns the very argument, tape and all, so that a derivative flows through a printed number.
Value write_real(const Call& call) {
  if (const Value t = call.environment().primal(call.argument(0)); value::is_tensor(t) && value::tensor_of(t).elements() == 1) {
    put(call, only_element(value::tensor_of(t)) + "\n");
    return Heap::retain(call.argument(0));
  }
  Value v = call.number(0);
  put(call, (v.is_integer() ? text::format_integer(v.integer()) : text::format_flonum(v.flonum())) + "\n");
  return Heap::retain(call.argument(0));
}

// (name value name value ...)
Value report_list(const Call& call) {
  std::vector<Reported> values;
  for (Value l = call.argument(0); l != kNull; l = l.pair()->cdr.pair()->cdr) {
    const bool paired = l.is_pair() && l.pair()->cdr.is_pair();
    if (!paired) call.complain("expected names, each followed by its value: (report 'loss l 'rate r)");
    if (values.size() == kMostReported) call.complain(fmt::format("at most {} values are reported at once", kMostReported));
    std::string name = reported_name(call, l.pair()->car);
    if (std::ranges::any_of(values, [&](const Reported& r) { return r.name == name; }))
      call.complain(fmt::format("two values for {}", name));
    const double value = reported_value(call, name, l.pair()->cdr.pair()->car);
    call.spend(name.size() + sizeof(Reported));
    values.push_back({std::move(name), value});
  }
  if (values.empty()) call.complain("expected a name and its value: (report 'loss l)");
  call.environment().report(values);
  return kUnspecified;
}

// --- input
Value read_real(const Call& call) {
  double d = 0;
  std::int64_t i = 0;
  bool exact = false;
  if (!call.environment().read_number(d, i, exact)) throw WorldError("read-real: end of input");
  return exact ? value::integer(i) : flonum(d);
}
Value command_line(const Call& call) {
  const std::vector<std::string>& arguments = call.environment().arguments();
  Owned list(call.heap(), kNull);
  for (std::size_t i = arguments.size(); i-- > 0;) {
    call.spend(arguments[i].size());
    list.push(call.heap().make_string(text::repaired(arguments[i])));
  }
  return list.take();
}

// --- random numbers
Value random_real(const Call& call) { return flonum(Draws(call, 0).uniform()); }
Value random_normal(const Call& call) { // Box and Muller; the first draw is moved from [0, 1) to (0, 1]
  Draws draws(call, 0);
  double radius = std::sqrt(-2 * fixed_log(1 - draws.uniform()));
  return flonum(radius * fixed_cosine(draws.uniform()));
}
// Draws below 2^64 mod n are refused: the others are a multiple of n, so every remainder is equally likely.
Value random_integer(const Call& call) {
  std::int64_t n = call.integer(0, "a positive integer");
  if (n <= 0) call.wrong(0, "a positive integer");
  Draws draws(call, 1);
  auto range = static_cast<std::uint64_t>(n);
  std::uint64_t least = (0 - range) % range, bits = 0;
  do bits = draws.bits();
  while (bits < least);
  return integer_unchecked(static_cast<std::int64_t>(bits % range));
}
Value derived_key(const Call& call) {
  const std::int64_t key = call.integer(0, "a key, which is an integer"), i = call.integer(1, "an integer");
  const std::uint64_t bits = ops::random::bits_of_key(key, ops::random::Use::key, static_cast<std::uint64_t>(i));
  return integer_unchecked(static_cast<std::int64_t>(bits >> 17)); // not negative, of 47 bits
}

Value clock(const Call& call) { return flonum(call.environment().seconds()); }

// --- capsules
Value is_capsule(const Call& call) { return boolean(value::is_capsule(call.argument(0))); }
Value capsule_steps(const Call& call) {
  std::uint64_t steps = call.environment().capsule_steps(capsule(call));
  return steps <= static_cast<std::uint64_t>(kMostInteger) ? integer_unchecked(static_cast<std::int64_t>(steps))
                                                           : flonum(static_cast<double>(steps));
}
Value capsule_finished(const Call& call) { return boolean(call.environment().capsule_finished(capsule(call))); }

} // namespace primitives

} // namespace cairn::print
