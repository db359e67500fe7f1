// The printer: a stack of what is still to be written instead of recursion, and one sink for both of its uses: the program's
// output in pieces, and short texts for messages.
#include "vm/print/printer.h"

#include "vm/print/kept_text.h"
#include "vm/print/tensors.h"
#include "vm/text/number.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::print {

using namespace value;

namespace {

constexpr std::size_t kPieceBytes = 4096;

// Collects text. Either hands full pieces to the environment, or keeps at most `most` bytes, which are charged.
class Sink {
public:
  explicit Sink(Environment& output) : output_(&output), kept_{Charged(output.accounts()), {}}, buffer_(kept_.text) {}
  Sink(const Environment& environment, std::size_t most)
      : meter_(&environment.meter()), most_(most), kept_{Charged(environment.accounts()), {}}, buffer_(kept_.text) {}

  // Long texts in pieces of their own: of them too no more is held than a piece, and no more of a message than is wanted.
  void put(std::string_view text) {
    while (text.size() > kPieceBytes && !full()) {
      put_piece(text.substr(0, kPieceBytes));
      text.remove_prefix(kPieceBytes);
    }
    if (!full()) put_piece(text);
  }
  void note_recorded() { kept_.of_recorded = true; }
  void put_code_point(std::uint32_t c) {
    make_space(4);
    text::append_code_point(buffer_, c);
    if (output_ != nullptr && buffer_.size() >= kPieceBytes) flush();
  }
  // What is written counts as work, a byte each. It may be stopped before a piece, never after.
  void flush() {
    if (buffer_.empty()) return;
    output_->meter().spend(buffer_.size());
    output_->write(buffer_);
    buffer_.clear();
  }
  // A message: it does not wait for the elements of a tensor, and nothing stops it.
  bool is_message() const { return output_ == nullptr && most_ < kPieceBytes; }
  // What goes to the environment can be stopped before each piece; this is for what is kept.
  void poll() const {
    if (meter_ != nullptr && !is_message()) meter_->poll();
  }
  bool full() const { return output_ == nullptr && buffer_.size() > most_; }
  // The text kept, cut between code points.
  KeptText finish() {
    if (full()) {
      std::size_t end = most_ < 3 ? 0 : most_ - 3;
      while (end > 0 && (static_cast<unsigned char>(buffer_[end]) & 0xC0) == 0x80) --end;
      buffer_.resize(end);
      buffer_ += "...";
    }
    return std::move(kept_);
  }

private:
  // What is shorter than a piece is not worth charging.
  void make_space(std::size_t bytes) {
    const std::size_t had = buffer_.capacity(), wanted = buffer_.size() + bytes;
    if (output_ != nullptr || wanted <= std::max(had, kPieceBytes)) return;
    const std::size_t capacity = std::max(wanted, 2 * had);
    kept_.charged.grow(static_cast<std::int64_t>(capacity)); // the old one is there until it is copied
    buffer_.reserve(capacity);
    kept_.charged.set(static_cast<std::int64_t>(buffer_.capacity()));
  }
  void put_piece(std::string_view text) {
    make_space(text.size());
    buffer_ += text;
    if (output_ != nullptr && buffer_.size() >= kPieceBytes) flush();
  }
  Environment* output_ = nullptr;
  const ops::Meter* meter_ = nullptr;
  std::size_t most_ = 0;
  KeptText kept_;
  std::string& buffer_;
};

void write_character(std::uint32_t c, Sink& sink) {
  sink.put("#\\");
  switch (c) {
  case 0:
    return sink.put("null");
  case 7:
    return sink.put("alarm");
  case 8:
    return sink.put("backspace");
  case '\t':
    return sink.put("tab");
  case '\n':
    return sink.put("newline");
  case '\r':
    return sink.put("return");
  case 27:
    return sink.put("escape");
  case ' ':
    return sink.put("space");
  case 0x7F:
    return sink.put("delete");
  default:
    break;
  }
  if (c < 0x20 || (c >= 0x80 && c < 0xA0))
    sink.put(fmt::format("x{:x}", c));
  else
    sink.put_code_point(c);
}

void write_string(std::string_view text, Sink& sink) {
  sink.put("\"");
  for (std::size_t at = 0; at < text.size() && !sink.full();) {
    std::uint32_t c = text::next_code_point(text, at);
    switch (c) {
    case '"':
      sink.put("\\\"");
      break;
    case '\\':
      sink.put("\\\\");
      break;
    case '\n':
      sink.put("\\n");
      break;
    case '\t':
      sink.put("\\t");
      break;
    case '\r':
      sink.put("\\r");
      break;
    default:
      if (c < 0x20 || (c >= 0x7F && c < 0xA0))
        sink.put(fmt::format("\\x{:x};", c));
      else
        sink.put_code_point(c);
    }
  }
  sink.put("\"");
}

// A value that opens nothing.
void put_leaf(Value v, Style style, const Environment& environment, Sink& sink) {
  if (v.is_flonum()) return sink.put(text::format_flonum(v.flonum()));
  if (v.is_integer()) return sink.put(text::format_integer(v.integer()));
  if (v == kNull) return sink.put("()");
  if (is_boolean(v)) return sink.put(v == kTrue ? "#t" : "#f");
  if (is_character(v)) return style == Style::write ? write_character(code_point(v), sink) : sink.put_code_point(code_point(v));
  if (is_string(v) && style == Style::write) return write_string(as_text(v)->view(), sink);
  if (is_string(v) || is_symbol(v)) return sink.put(as_text(v)->view());
  if (v.is_procedure()) return sink.put("#<procedure>");
  if (is_capsule(v)) return sink.put("#<capsule>");
  if (is_tensor(v)) {
    if (sink.is_message() || !tensor_of(v).storage) return sink.put(tensor_description(tensor_of(v)));
    return write_tensor(tensor_of(v), environment, [&sink](std::string_view text) {
      sink.put(text);
      return !sink.full();
    });
  }
  sink.put("#<unspecified>");
}

// --- dictionaries, which the library keeps as vectors (compiler/library/dictionaries.scm): weight, smaller keys, key, value,
// larger keys. Weights and keys that are numbers are characters 0x100 above them, pairs of two such digits, or texts.

constexpr std::uint64_t kDictParts = 5;
constexpr std::int64_t kDigitOffset = 0x100, kDigits = 0x8000;

std::int64_t natural_of(Value v) { // negative: v is no such number
  if (is_character(v)) return static_cast<std::int64_t>(code_point(v)) - kDigitOffset;
  if (!v.is_pair() || !is_character(v.pair()->car) || !is_character(v.pair()->cdr)) return -1;
  const std::int64_t high = natural_of(v.pair()->car), low = natural_of(v.pair()->cdr);
  return high < 0 || low < 0 ? -1 : kDigits * high + low;
}

bool has_dict_parts(Value v) { return is_vector(v) && as_vector(v)->length == kDictParts; }

// The weight of a side, which is 1 if it is empty; negative: v is none.
std::int64_t weight_of(Value v) {
  if (v == kNull) return 1;
  return has_dict_parts(v) ? natural_of(as_vector(v)->items()[0]) : -1;
}

bool is_kept_key(Value v) {
  if (v.is_pair()) return v.pair()->cdr == kNull && (is_string(v.pair()->car) || natural_of(v.pair()->car) >= 0);
  return is_string(v) || is_symbol(v) || is_character(v);
}

// A vector that says so many keys as its sides do is one: no vector of a program's own does that by chance.
bool is_dict(Value v) {
  if (!has_dict_parts(v)) return false;
  const Value* parts = as_vector(v)->items();
  const std::int64_t smaller = weight_of(parts[1]), larger = weight_of(parts[4]);
  return smaller > 0 && larger > 0 && weight_of(v) == smaller + larger && is_kept_key(parts[2]);
}

// --- recorded tensors (vm/machine/recorded.h), which refer to all that they would be made of: type and sizes are shown.

bool is_recorded(Value v) {
  constexpr std::uint64_t kSlots = 8;
  if (!is_vector(v) || as_vector(v)->length != kSlots) return false;
  const Value first = as_vector(v)->items()[0];
  return is_symbol(first) && as_text(first)->view() == "%recorded";
}

void put_key(Value kept, Style style, const Environment& environment, Sink& sink) {
  if (!kept.is_pair()) return put_leaf(kept, style, environment, sink);
  const Value number = kept.pair()->car;
  sink.put(is_string(number) ? std::string(as_text(number)->view()) : text::format_integer(natural_of(number)));
}

struct Pending {
  enum class What : std::uint8_t { value, rest_of_list, close, elements, sides, entry, blank, close_shown };
  What what;
  Value value;
  std::uint64_t index = 0;
};

void put(Value root, Style style, const Environment& environment, Sink& sink) {
  using What = Pending::What;
  ChargedVector<Pending> stack({{What::value, root}}, environment.accounts());
  constexpr unsigned kMany = 1024;
  for (unsigned n = 1; !stack.empty() && !sink.full(); ++n) {
    if (n % kMany == 0) sink.poll();
    Pending p = stack.back();
    stack.pop_back();
    Value v = environment.primal(p.value);
    switch (p.what) {
    case What::value:
      if (v.is_pair()) {
        sink.put("(");
        stack.push_back({What::rest_of_list, v.pair()->cdr});
        stack.push_back({What::value, v.pair()->car});
      } else if (is_dict(v)) {
        sink.put("#<dict");
        stack.push_back({What::close_shown, kNull});
        stack.push_back({What::sides, v});
      } else if (is_recorded(v)) {
        sink.put("#<recorded ");
        sink.note_recorded();
        stack.push_back({What::close_shown, kNull});
        stack.push_back({What::value, as_vector(v)->items()[2]});
        stack.push_back({What::blank, kNull});
        stack.push_back({What::value, as_vector(v)->items()[1]});
      } else if (is_vector(v)) {
        sink.put("#(");
        stack.push_back({What::elements, v});
      } else {
        put_leaf(v, style, environment, sink);
      }
      break;
    case What::rest_of_list:
      if (v.is_pair()) {
        sink.put(" ");
        stack.push_back({What::rest_of_list, v.pair()->cdr});
        stack.push_back({What::value, v.pair()->car});
      } else if (v == kNull) {
        sink.put(")");
      } else {
        sink.put(" . ");
        stack.push_back({What::close, kNull});
        stack.push_back({What::value, v});
      }
      break;
    case What::elements:
      if (p.index == as_vector(v)->length) {
        sink.put(")");
      } else {
        if (p.index > 0) sink.put(" ");
        stack.push_back({What::elements, v, p.index + 1});
        stack.push_back({What::value, as_vector(v)->items()[p.index]});
      }
      break;
    case What::close:
      sink.put(")");
      break;
    case What::sides: // of a dictionary, in the order of keys
      if (v == kNull) break;
      if (!is_dict(v)) { // made by hand
        sink.put(" ");
        stack.push_back({What::value, v});
        break;
      }
      stack.push_back({What::sides, as_vector(v)->items()[4]});
      stack.push_back({What::entry, v});
      stack.push_back({What::sides, as_vector(v)->items()[1]});
      break;
    case What::entry:
      sink.put(" ");
      put_key(as_vector(v)->items()[2], style, environment, sink);
      sink.put(" ");
      stack.push_back({What::value, as_vector(v)->items()[3]});
      break;
    case What::blank:
      sink.put(" ");
      break;
    case What::close_shown:
      sink.put(">");
      break;
    }
  }
}

} // namespace

void print(Value v, Style style, Environment& environment) {
  Sink sink(environment);
  put(v, style, environment, sink);
  sink.flush();
}

KeptText text_of(Value v, const Environment& environment, std::size_t most, Style style) {
  Sink sink(environment, most);
  put(v, style, environment, sink);
  return sink.finish();
}

std::string abbreviated(Value v, const Environment& environment, std::size_t most) {
  return std::move(text_of(v, environment, most).text);
}

} // namespace cairn::print
