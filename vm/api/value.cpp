// Values of cairn.h: the machine's own 64 bits, handed out with a reference.
#include "vm/api/interruptible.h"
#include "vm/print/kept_text.h"
#include "vm/text/utf8.h"

#include <cmath>

using cairn::api::copy_out;
using cairn::api::guarded;
using cairn::api::handed_out;
using cairn::api::inner;
using cairn::api::made_by_host;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::value::Heap;
using cairn::value::Value;
namespace value = cairn::value;

namespace {

constexpr std::uint32_t kLastCodePoint = 0x10FFFF;

// Runs `make`, which returns an owned value, and hands that out.
template <class Make> cairn_status make(cairn_vm* vm, cairn_value* result, bool arguments_good, Make&& build) {
  if (result != nullptr) *result = cairn_unspecified();
  return guarded(nullptr, [&] {
    require(vm != nullptr && result != nullptr && arguments_good, "an argument is NULL");
    *result = handed_out(made_by_host(vm->engine, build));
  });
}

std::string_view text_of(const char* text, size_t bytes) {
  return bytes == 0 ? std::string_view() : std::string_view(text, bytes);
}

void require_utf8(std::string_view text) {
  if (!cairn::text::is_utf8(text)) throw Refusal{CAIRN_BAD_ARGUMENT, "the text is not UTF-8"};
}

} // namespace

cairn_kind cairn_value_kind(cairn_value v) {
  Value x = inner(v);
  if (x.is_flonum() || x.is_taped()) return CAIRN_KIND_REAL;
  if (x.is_integer()) return CAIRN_KIND_INTEGER;
  if (x.is_pair()) return CAIRN_KIND_PAIR;
  if (x.is_procedure()) return CAIRN_KIND_PROCEDURE;
  if (x == value::kNull) return CAIRN_KIND_NULL;
  if (value::is_boolean(x)) return CAIRN_KIND_BOOLEAN;
  if (value::is_character(x)) return CAIRN_KIND_CHARACTER;
  if (value::is_string(x)) return CAIRN_KIND_STRING;
  if (value::is_symbol(x)) return CAIRN_KIND_SYMBOL;
  if (value::is_vector(x)) return CAIRN_KIND_VECTOR;
  if (value::is_capsule(x)) return CAIRN_KIND_CAPSULE;
  if (value::is_tensor(x)) return CAIRN_KIND_TENSOR;
  return CAIRN_KIND_UNSPECIFIED;
}

cairn_value cairn_unspecified(void) { return handed_out(value::kUnspecified); }
cairn_value cairn_null(void) { return handed_out(value::kNull); }
cairn_value cairn_boolean(int truth) { return handed_out(value::boolean(truth != 0)); }
cairn_value cairn_real(double number) { return handed_out(value::flonum(number)); }
cairn_value cairn_integer(int64_t number) { return handed_out(value::integer(number)); }
cairn_value cairn_character(uint32_t code_point) {
  bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point > kLastCodePoint || surrogate ? cairn_unspecified() : handed_out(value::character(code_point));
}

cairn_status cairn_make_string(cairn_vm* vm, const char* text, size_t bytes, cairn_value* result) {
  return make(vm, result, text != nullptr || bytes == 0, [&] {
    require_utf8(text_of(text, bytes));
    return vm->engine.heap().make_string(text_of(text, bytes));
  });
}

cairn_status cairn_make_symbol(cairn_vm* vm, const char* text, size_t bytes, cairn_value* result) {
  return make(vm, result, text != nullptr || bytes == 0, [&] {
    require_utf8(text_of(text, bytes));
    return vm->engine.heap().make_symbol(text_of(text, bytes));
  });
}

cairn_status cairn_make_pair(cairn_vm* vm, cairn_value car, cairn_value cdr, cairn_value* result) {
  return make(vm, result, true, [&] { return vm->engine.heap().cons(Heap::retain(inner(car)), Heap::retain(inner(cdr))); });
}

cairn_status cairn_make_list(cairn_vm* vm, const cairn_value* items, size_t count, cairn_value* result) {
  return make(vm, result, items != nullptr || count == 0, [&] {
    Heap& heap = vm->engine.heap();
    Value list = value::kNull;
    for (size_t i = count; i-- > 0;) {
      list = heap.cons(Heap::retain(inner(items[i])), list);
      value::object_of(list)->serial = 0;
    }
    return list;
  });
}

cairn_status cairn_make_vector(cairn_vm* vm, const cairn_value* items, size_t count, cairn_value* result) {
  return make(vm, result, items != nullptr || count == 0, [&] {
    value::Vector* v = vm->engine.heap().make_vector(count);
    for (size_t i = 0; i < count; ++i) v->items()[i] = Heap::retain(inner(items[i]));
    return value::of_other(v);
  });
}

cairn_status cairn_make_reals(cairn_vm* vm, const double* numbers, size_t count, cairn_value* result) {
  return make(vm, result, numbers != nullptr || count == 0, [&] {
    value::Vector* v = vm->engine.heap().make_vector(count);
    for (size_t i = 0; i < count; ++i) v->items()[i] = value::flonum(numbers[i]);
    return value::of_other(v);
  });
}

cairn_status cairn_get_boolean(cairn_value v, int* truth) {
  if (truth == nullptr) return CAIRN_BAD_ARGUMENT;
  if (!value::is_boolean(inner(v))) return CAIRN_WRONG_KIND;
  *truth = inner(v) == value::kTrue ? 1 : 0;
  return CAIRN_OK;
}

cairn_status cairn_get_real(cairn_value v, double* number) {
  Value x = inner(v);
  if (number == nullptr) return CAIRN_BAD_ARGUMENT;
  if (!x.is_flonum() && !x.is_integer()) return CAIRN_WRONG_KIND;
  *number = x.is_integer() ? static_cast<double>(x.integer()) : x.flonum();
  return CAIRN_OK;
}

cairn_status cairn_get_integer(cairn_value v, int64_t* number) {
  Value x = inner(v);
  if (number == nullptr) return CAIRN_BAD_ARGUMENT;
  constexpr double kLimit = 9223372036854775808.0; // 2^63
  if (x.is_integer())
    *number = x.integer();
  else if (x.is_flonum() && x.flonum() == std::trunc(x.flonum()) && x.flonum() >= -kLimit && x.flonum() < kLimit)
    *number = static_cast<int64_t>(x.flonum());
  else
    return CAIRN_WRONG_KIND;
  return CAIRN_OK;
}

cairn_status cairn_get_character(cairn_value v, uint32_t* code_point) {
  if (code_point == nullptr) return CAIRN_BAD_ARGUMENT;
  if (!value::is_character(inner(v))) return CAIRN_WRONG_KIND;
  *code_point = value::code_point(inner(v));
  return CAIRN_OK;
}

cairn_status cairn_get_text(cairn_value v, char** text, size_t* bytes) {
  Value x = inner(v);
  if (text == nullptr) return CAIRN_BAD_ARGUMENT;
  if (!value::is_string(x) && !value::is_symbol(x)) return CAIRN_WRONG_KIND;
  return guarded(nullptr, [&] {
    *text = copy_out(value::as_text(x)->view());
    if (bytes != nullptr) *bytes = value::as_text(x)->bytes;
  });
}

cairn_status cairn_get_pair(cairn_value v, cairn_value* car, cairn_value* cdr) {
  if (car == nullptr || cdr == nullptr) return CAIRN_BAD_ARGUMENT;
  if (!inner(v).is_pair()) return CAIRN_WRONG_KIND;
  const value::Pair* pair = inner(v).pair();
  *car = handed_out(Heap::retain(pair->car));
  *cdr = handed_out(Heap::retain(pair->cdr));
  return CAIRN_OK;
}

cairn_status cairn_get_length(cairn_value v, size_t* length) {
  Value x = inner(v);
  if (length == nullptr) return CAIRN_BAD_ARGUMENT;
  if (value::is_vector(x)) {
    *length = value::as_vector(x)->length;
  } else if (value::is_string(x)) {
    *length = value::as_text(x)->length;
  } else {
    size_t n = 0;
    for (; x.is_pair(); x = x.pair()->cdr) ++n;
    if (x != value::kNull) return CAIRN_WRONG_KIND;
    *length = n;
  }
  return CAIRN_OK;
}

cairn_status cairn_get_item(cairn_value vector, size_t index, cairn_value* item) {
  if (item == nullptr) return CAIRN_BAD_ARGUMENT;
  *item = cairn_unspecified();
  if (!value::is_vector(inner(vector))) return CAIRN_WRONG_KIND;
  value::Vector* v = value::as_vector(inner(vector));
  if (index >= v->length) return CAIRN_BAD_ARGUMENT;
  *item = handed_out(Heap::retain(v->items()[index]));
  return CAIRN_OK;
}

cairn_status cairn_get_reals(cairn_value v, double* numbers, size_t capacity, size_t* count) {
  Value x = inner(v);
  if (count == nullptr || (numbers == nullptr && capacity != 0)) return CAIRN_BAD_ARGUMENT;
  size_t n = 0;
  auto put = [&](Value number) {
    double d = 0;
    if (cairn_get_real(handed_out(number), &d) != CAIRN_OK) return false;
    if (n < capacity) numbers[n] = d;
    ++n;
    return true;
  };
  if (value::is_vector(x)) {
    const value::Vector* items = value::as_vector(x);
    for (std::uint64_t i = 0; i < items->length; ++i)
      if (!put(items->items()[i])) return CAIRN_WRONG_KIND;
  } else {
    for (; x.is_pair(); x = x.pair()->cdr)
      if (!put(x.pair()->car)) return CAIRN_WRONG_KIND;
    if (x != value::kNull) return CAIRN_WRONG_KIND;
  }
  *count = n;
  return CAIRN_OK;
}

cairn_status cairn_get_capsule(cairn_value v, uint64_t* steps, int* finished) {
  if (steps == nullptr || finished == nullptr) return CAIRN_BAD_ARGUMENT;
  if (!value::is_capsule(inner(v))) return CAIRN_WRONG_KIND;
  const cairn::machine::Capsule* capsule = cairn::machine::as_capsule(inner(v));
  *steps = capsule->steps;
  *finished = capsule->finished ? 1 : 0;
  return CAIRN_OK;
}

char* cairn::api::text_out(const cairn_vm& vm, Value v, std::size_t most) {
  char* text = nullptr;
  interruptible(vm, [&] {
    const machine::Engine& engine = vm.engine;
    const print::KeptText kept = print::text_of(v, engine, most);
    const value::Charged copy(engine.accounts(), engine.accounts().scratch, static_cast<std::int64_t>(kept.text.size()));
    text = copy_out(kept.text);
  });
  return text;
}

cairn_status cairn_value_text(const cairn_vm* vm, cairn_value v, size_t most, char** text) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && text != nullptr, "cairn_value_text: an argument is NULL");
    *text = nullptr;
    *text = cairn::api::text_out(*vm, inner(v), most == 0 ? SIZE_MAX : most);
  });
}

void cairn_value_retain(cairn_value v) { Heap::retain(inner(v)); }

void cairn_value_release(cairn_vm* vm, cairn_value v) {
  if (vm != nullptr) vm->engine.heap().release(inner(v));
}
