// Tables of numbers and texts: a column is a tensor where each of its fields is a number or missing, else a list of texts.
#include "vm/formats/csv.h"
#include "vm/formats/table.h"
#include "vm/machine/file_call.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace cairn::machine::tensors {

using ops::DType;
using ops::Tensor;

namespace {

constexpr std::string_view kSeparators = ",;|:\t ";
constexpr std::size_t kColumnsBetweenPolls = 1024; // of a row, whose columns may be as many as the file has bytes

void goes_on(FileCall& call, std::size_t column) {
  if (column % kColumnsBetweenPolls == 0) call.engine.meter().poll();
}

// In the separator's place a type may stand.
bool is_type_alone(FileCall& call) { return call.operands.size() == 2 && value::is_symbol(call.operands[1]); }

char separator_of(FileCall& call) {
  if (call.operands.size() < 2 || is_type_alone(call)) return ',';
  const Value given = call.operands[1];
  std::uint32_t c = 0;
  if (value::is_character(given)) c = value::code_point(given);
  if (value::is_string(given) && value::as_text(given)->view().size() == 1)
    c = static_cast<unsigned char>(value::as_text(given)->view()[0]);
  if (c == 0 || c >= 0x80 || kSeparators.find(static_cast<char>(c)) == std::string_view::npos)
    call.wrong("a separator, one of #\\, #\\; #\\| #\\: #\\tab #\\space", given);
  return static_cast<char>(c);
}

// None: that of each column by its numbers.
std::optional<DType> type_of_columns(FileCall& call) {
  if (call.operands.size() < 3 && !is_type_alone(call)) return std::nullopt;
  const Value last = call.operands.back();
  const auto given = dtype_of_value(last);
  if (!given) call.wrong("a type of elements: one of u8 i8 i16 i32 i64 f32 f64 bf16", last);
  return given;
}

// Whole numbers are often names of things, such as keys and times: where f32 does not hold one of them, a column of them is of
// f64. Those that f64 may not hold either are measures like any other.
DType type_by_numbers(std::span<const double> numbers) {
  constexpr double kHeld = 9007199254740992; // 2^53
  bool f32_holds_all = true;
  for (const double x : numbers) {
    if (std::isnan(x)) continue; // missing
    if (std::trunc(x) != x || std::abs(x) > kHeld) return DType::f32;
    f32_holds_all = f32_holds_all && static_cast<double>(static_cast<float>(x)) == x;
  }
  return f32_holds_all ? DType::f32 : DType::f64;
}

// A number that a type of integers does not hold, in which line of the file; 0: there is none.
struct NoInteger {
  double number = 0;
  std::uint64_t line = 0;
};

bool is_held(double d, DType type) {
  if (std::trunc(d) != d) return false; // also where it is missing
  const bool is_unsigned = type == DType::u8;
  const int bits = static_cast<int>(8 * ops::bytes_of(type)) - (is_unsigned ? 0 : 1);
  return d < std::ldexp(1, bits) && d >= (is_unsigned ? 0 : -std::ldexp(1, bits));
}

// What a first look at all rows tells. Numbers of columns of text are zeros.
struct Columns {
  explicit Columns(FileCall& call)
      : memory(call.heap, call.heap.scratch), numbers(call.heap), no_integers(call.heap), is_text(call.heap) {}
  value::Charged memory; // of names, and of fields while they are looked at
  std::vector<std::string> names;
  value::ChargedVector<double> numbers;        // row by row
  value::ChargedVector<NoInteger> no_integers; // of each column the first, where integers are asked for
  value::ChargedVector<char> is_text;
  std::size_t rows = 0;
  bool named = false;
};

using Fields = std::vector<std::string_view>;

bool has_number(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](std::string_view field) { return !formats::is_missing(field) && formats::field_number(field); });
}

formats::TableRows rows_of(std::string_view text, char separator, value::Charged& memory) {
  return {text, separator, [&memory](std::uint64_t bytes) { memory.grow(static_cast<std::int64_t>(bytes)); }};
}

void look_at(FileCall& call, std::string_view text, char separator, std::optional<DType> type, Columns& columns) {
  const bool integers = type && !ops::is_floating(*type);
  formats::TableRows rows = rows_of(text, separator, columns.memory);
  Fields fields;
  for (bool first = true; rows.next(fields); first = false) {
    call.engine.meter().poll();
    if (first) {
      columns.is_text.assign(fields.size(), 0);
      columns.no_integers.assign(integers ? fields.size() : 0, {});
      columns.named = !has_number(fields);
      if (columns.named) {
        for (const std::string_view field : fields) {
          goes_on(call, columns.names.size());
          columns.memory.grow(static_cast<std::int64_t>(field.size() + 3 * sizeof(std::string)));
          columns.names.emplace_back(field);
        }
        continue;
      }
    }
    if (fields.size() != columns.is_text.size())
      rows.wrong(fmt::format("{} fields, and {} in the line before; a separator is given as in (read-table path #\\;)",
                             fields.size(), columns.is_text.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      goes_on(call, i);
      const std::optional<double> d = columns.is_text[i] != 0 ? 0 : formats::field_number(fields[i]);
      if (!d) columns.is_text[i] = 1;
      if (integers && d && columns.no_integers[i].line == 0 && !is_held(*d, *type)) columns.no_integers[i] = {*d, rows.line()};
      columns.numbers.push_back(d.value_or(0));
    }
    ++columns.rows;
  }
}

void check_integers(const Columns& columns, std::optional<DType> type) {
  for (std::size_t i = 0; i < columns.no_integers.size(); ++i) {
    const auto& [number, line] = columns.no_integers[i];
    if (columns.is_text[i] != 0 || line == 0) continue;
    throw formats::FormatError(formats::FormatError::kNowhere,
                               fmt::format("line {}: field {} is {}, which no {} is; leave the type out or give 'f64", line,
                                           i + 1, std::isnan(number) ? "missing" : fmt::format("{}", number),
                                           ops::name_of(*type)));
  }
}

Value tensor_of_column(FileCall& call, const Columns& columns, std::size_t i, std::optional<DType> given) {
  value::ChargedVector<double> numbers(call.heap);
  numbers.reserve(columns.rows);
  for (std::size_t at = i; at < columns.numbers.size(); at += columns.is_text.size()) numbers.push_back(columns.numbers[at]);
  const DType type = given ? *given : type_by_numbers(numbers);
  ops::Runtime& runtime = call.engine.tensors().runtime;
  const Tensor t =
      runtime.from_host(DType::f64, {static_cast<std::int64_t>(columns.rows)}, runtime.default_device(), numbers.data());
  return call.heap.make_tensor(type == DType::f64 ? t : runtime.cast(t, type));
}

// A second look, at columns of text alone: `cells` are the pairs that hold them.
void read_texts(FileCall& call, std::string_view text, char separator, Columns& columns,
                const value::ChargedVector<value::Pair*>& cells) {
  formats::TableRows rows = rows_of(text, separator, columns.memory);
  Fields fields;
  if (columns.named) rows.next(fields);
  value::ChargedVector<value::Pair*> last(columns.is_text.size(), nullptr, call.heap);
  while (rows.next(fields)) {
    call.engine.meter().poll();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      goes_on(call, i);
      if (columns.is_text[i] == 0) continue;
      if (fields[i].size() > UINT32_MAX) rows.wrong("a field of more bytes than a string can have");
      value::Pair* const pair = call.heap.cons(call.heap.make_string(fields[i]), value::kNull).pair();
      (last[i] == nullptr ? cells[i]->car : last[i]->cdr) = value::of_pair(pair);
      last[i] = pair;
    }
  }
}

} // namespace

Value read_table(FileCall& call) {
  const char separator = separator_of(call);
  const std::optional<DType> type = type_of_columns(call);
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const auto text = call.characters(file, 0, file.size());
    call.engine.meter().spend(8 * file.size()); // bytes that are looked at, and not just copied
    checked_length(call, file, view(text), 0);
    Columns columns(call);
    look_at(call, view(text), separator, type, columns);
    check_integers(columns, type);
    const std::size_t count = columns.is_text.size();
    value::ChargedVector<value::Pair*> cells(count, nullptr, call.heap);
    value::Owned list(call.heap, value::kNull);
    for (std::size_t i = count; i-- > 0;) {
      goes_on(call, i);
      const bool no_tensor = columns.is_text[i] != 0 || columns.rows == 0;
      list.push(no_tensor ? value::kNull : tensor_of_column(call, columns, i, type));
      cells[i] = list.v.pair();
    }
    if (std::find(columns.is_text.begin(), columns.is_text.end(), 1) != columns.is_text.end())
      read_texts(call, view(text), separator, columns, cells);
    value::Owned names(call.heap, value::kNull);
    for (std::size_t i = columns.names.size(); i-- > 0;) {
      goes_on(call, i);
      names.push(call.heap.make_string(columns.names[i]));
    }
    return call.heap.cons(names.take(), list.take());
  });
}

} // namespace cairn::machine::tensors
