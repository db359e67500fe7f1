// JSON as values and back. An object is an association list with strings as keys, which may be any text and need not be symbols;
// an array is a vector, so that the empty one differs from the empty object, and an element is had at once; null is the symbol
// null.
#include "vm/formats/json.h"
#include "vm/machine/element_numbers.h"
#include "vm/machine/file_call.h"
#include "vm/machine/recorded.h"
#include "vm/text/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cairn::machine::tensors {

using ops::Tensor;

namespace {

class ValueSink : public formats::JsonSink {
public:
  explicit ValueSink(Heap& heap) : heap_(heap), values_(heap), begins_(heap) {}
  ~ValueSink() override {
    for (const Value v : values_) heap_.release(v);
  }
  ValueSink(const ValueSink&) = delete;
  ValueSink& operator=(const ValueSink&) = delete;
  Value take() { return std::exchange(values_.front(), value::kUnspecified); }

  void begin() override { begins_.push_back(values_.size()); }
  void end(bool object) override {
    const std::size_t begin = begins_.back(), count = values_.size() - begin;
    begins_.pop_back();
    if (object) {
      value::Owned list(heap_, value::kNull);
      for (std::size_t i = values_.size(); i > begin; i -= 2) {
        value::Owned x(heap_, std::exchange(values_[i - 1], value::kUnspecified));
        const Value key = std::exchange(values_[i - 2], value::kUnspecified);
        list.push(heap_.cons(key, x.take()));
      }
      values_.resize(begin);
      add(list.take());
    } else {
      value::Vector* const vector = heap_.make_vector(count);
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(begin), count, vector->items());
      values_.resize(begin);
      add(value::of_other(vector));
    }
  }
  void text(std::string_view text) override { add(heap_.make_string(text)); }
  void integer(std::int64_t i) override { add(value::integer(i)); }
  void number(double d) override { add(value::flonum(d)); }
  void truth(bool b) override { add(value::boolean(b)); }
  void null() override { add(heap_.make_symbol("null")); }

private:
  void add(Value v) {
    value::Owned owned(heap_, v);
    values_.push_back(v);
    owned.take();
  }
  Heap& heap_;
  value::ChargedVector<Value> values_; // of what is open
  value::ChargedVector<std::size_t> begins_;
};

constexpr std::uint64_t kJsonWork = 8; // a byte that is looked at, and not just copied

class Writer {
public:
  explicit Writer(FileCall& call) : call_(call), stack_(call.heap), out_(call.heap) {}
  std::string_view text() const { return view(out_); }
  void write(Value root) {
    value_of(root);
    while (!stack_.empty()) {
      spend();
      Open& open = stack_.back();
      if (open.vector != nullptr) {
        if (open.index == open.vector->length) {
          close(']');
        } else {
          if (open.index != 0) append(",");
          value_of(open.vector->items()[open.index++]);
        }
      } else if (open.list == value::kNull) {
        close(open.object ? '}' : ']');
      } else {
        if (open.index++ != 0) append(",");
        const value::Pair* pair = open.list.pair();
        open.list = pair->cdr;
        if (open.object) {
          text_of(value::as_text(pair->car.pair()->car)->view());
          append(":");
          value_of(pair->car.pair()->cdr);
        } else {
          value_of(pair->car);
        }
      }
    }
  }

private:
  struct Open {
    const value::Vector* vector = nullptr; // else a list
    Value list = value::kNull;
    bool object = false;
    std::uint64_t index = 0;
  };
  void append(std::string_view text) { out_.insert(out_.end(), text.begin(), text.end()); }
  void close(char c) {
    append({&c, 1});
    stack_.pop_back();
  }
  // For what was written since it was called last, in larger pieces.
  void spend() {
    constexpr std::size_t kOften = 4096;
    ++looked_at_;
    if (out_.size() + looked_at_ < spent_ + kOften) return;
    call_.engine.meter().spend(kJsonWork * (out_.size() + looked_at_ - spent_));
    spent_ = out_.size() + looked_at_;
  }
  static bool is_name(Value v) { return value::is_string(v) || value::is_symbol(v); }
  // A list of pairs that begin with a name.
  bool is_object(Value v) {
    for (; v.is_pair(); v = v.pair()->cdr) {
      spend();
      if (!v.pair()->car.is_pair() || !is_name(v.pair()->car.pair()->car)) return false;
    }
    return true;
  }
  void check_list(Value whole) {
    Value v = whole;
    for (; v.is_pair(); v = v.pair()->cdr) spend();
    if (v != value::kNull) call_.wrong("lists that end in ()", whole);
  }
  // As the library makes them (dictionaries.scm): no vector that can be written begins so.
  static bool looks_like_a_dictionary(Value v) {
    const value::Vector& vector = *value::as_vector(v);
    if (vector.length != 5) return false;
    const Value first = vector.items()[0];
    return value::is_character(first) || (first.is_pair() && value::is_character(first.pair()->car));
  }
  void text_of(std::string_view text) {
    constexpr std::size_t kPart = 4096;
    append("\"");
    for (std::string part; !text.empty(); text.remove_prefix(std::min(kPart, text.size()))) {
      part.clear();
      formats::append_json(part, text.substr(0, kPart));
      append(part);
      spend();
    }
    append("\"");
  }
  void number(double d) {
    if (!std::isfinite(d))
      throw ProgramError(
          fmt::format("{}: JSON has no number {}; write null, a text or a large number", call_.name, text::format_flonum(d)));
    append(text::format_flonum(d));
  }
  void value_of(Value given) {
    const Value v = call_.engine.primal(given);
    if (v == value::kNull) {
      append("{}");
    } else if (v.is_pair()) {
      check_list(v);
      const bool object = is_object(v);
      stack_.push_back({nullptr, v, object, 0});
      append(object ? "{" : "[");
    } else if (is_recorded(v)) {
      refuse_recorded(call_.engine, call_.name);
    } else if (value::is_vector(v)) {
      if (looks_like_a_dictionary(v))
        throw ProgramError(
            fmt::format("{}: a dictionary is none of the values that JSON has; (dict->list d) is a list of its keys "
                        "and values, which is an object if the keys are strings or symbols",
                        call_.name));
      stack_.push_back({value::as_vector(v), value::kNull, false, 0});
      append("[");
    } else if (v.is_integer()) {
      append(text::format_integer(v.integer()));
    } else if (v.is_flonum()) {
      number(v.flonum());
    } else if (value::is_boolean(v)) {
      append(v == value::kTrue ? "true" : "false");
    } else if (value::is_symbol(v) && value::as_text(v)->view() == "null") {
      append("null");
    } else if (is_name(v)) {
      text_of(value::as_text(v)->view());
    } else if (is_tensor_like(v)) {
      tensor(elements_of(call_.engine, v));
    } else {
      call_.wrong("values that JSON has (strings, symbols, numbers, booleans, vectors, lists, tensors)", v);
    }
  }
  // Arrays in each other, of what is left behind an axis.
  void tensor(const Tensor& t) {
    int rank = 0; // axes up to the first of size 0, whose arrays are empty
    while (rank < t.rank() && t.shape[rank] != 0) ++rank;
    const bool empty = rank < t.rank();
    std::int64_t count = 1;
    for (int axis = 0; axis < rank; ++axis) count *= t.shape[axis];
    const auto brackets = [&](std::int64_t place, char c) { // those of axes that begin, or end, at a place
      std::int64_t inner = 1;
      for (int axis = rank; axis-- > 0;) {
        inner *= t.shape[axis];
        if (place % inner != 0) break;
        append({&c, 1});
      }
    };
    std::int64_t place = 0;
    const auto element = [&](std::string_view text) {
      if (place != 0) append(",");
      brackets(place, '[');
      append(text);
      brackets(++place, ']');
      spend();
    };
    if (empty) {
      while (place != count) element("[]");
      return;
    }
    each_number(call_, t, 0, [&](auto x) { // `element` spends what it takes
      if (!std::isfinite(static_cast<double>(x))) number(static_cast<double>(x));
      char digits[32];
      element({digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, x).ptr - digits)});
    });
  }
  FileCall& call_;
  value::ChargedVector<Open> stack_;
  value::ChargedVector<char> out_;
  std::size_t spent_ = 0, looked_at_ = 0;
};

Value parsed_json(FileCall& call, std::string_view text) {
  call.engine.meter().spend(kJsonWork * text.size());
  const value::Charged parsing(call.heap, call.heap.scratch, static_cast<std::int64_t>(3 * text.size())); // texts, one at a time
  ValueSink sink(call.heap);
  formats::parse_json(text, sink);
  return sink.take();
}

} // namespace

Value read_json(FileCall& call) {
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const auto text = call.all(file);
    return parsed_json(call, view(text));
  });
}

Value string_to_json(FileCall& call) {
  try {
    return parsed_json(call, call.text(0, "a string"));
  } catch (const formats::FormatError& e) {
    throw ProgramError(fmt::format("{}: {} (byte {})", call.name, e.what(), e.at));
  }
}

Value write_json(FileCall& call) {
  Writer writer(call);
  writer.write(call.operands[1]);
  return call.replace(writer.text().size() + 1, [&](files::FileSink& sink) {
    call.put(sink, writer.text());
    call.put(sink, "\n");
  });
}

Value json_to_string(FileCall& call) {
  Writer writer(call);
  writer.write(call.operands[0]);
  return call.heap.make_string(writer.text());
}

} // namespace cairn::machine::tensors
