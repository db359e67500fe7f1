// See dictionaries.h.
#include "dictionaries.h"

#include "nesting.h"

#include <algorithm>
#include <string>
#include <vector>

namespace cairn::python {

namespace {

bool is_side(cairn_value v) { return cairn_value_kind(v) == CAIRN_KIND_NULL || cairn_value_kind(v) == CAIRN_KIND_VECTOR; }

constexpr std::int64_t kFirstText = 0x40000000; // from here on, and below 0, numbers are kept as text
constexpr std::int64_t kExact = std::int64_t{1} << 47;

// Numbers that a dictionary keeps as constants.
cairn_value constant_of(Machine* machine, std::uint64_t n) {
  if (n < 0xd000) return cairn_character(static_cast<std::uint32_t>(n + 0x100));
  cairn_value pair{};
  need(cairn_make_pair(machine->vm, cairn_character(static_cast<std::uint32_t>(0x100 + n / 0x8000)),
                       cairn_character(static_cast<std::uint32_t>(0x100 + n % 0x8000)), &pair));
  return pair;
}

cairn_value text_of_number(Machine* machine, long long n) {
  const std::string text = std::to_string(n);
  cairn_value value{};
  need(cairn_make_string(machine->vm, text.data(), text.size(), &value));
  return value;
}

struct Entry {
  int kind; // numbers, characters, strings, symbols
  PyObject *key, *value;
};

Entry entry_of(PyObject* key, PyObject* value) {
  if (PyBool_Check(key) == 0 && PyLong_Check(key) != 0) {
    const long long n = PyLong_AsLongLong(key);
    if (n >= -kExact && n < kExact && PyErr_Occurred() == nullptr) return {0, key, value};
    PyErr_Clear();
    raise(PyExc_TypeError, "a key of a dict that is an integer is one of 48 bits, not %R", key);
  }
  if (is_type(key, known.character)) return {1, key, value};
  if (is_type(key, known.symbol)) return {3, key, value};
  if (PyUnicode_Check(key) != 0) return {2, key, value};
  raise(PyExc_TypeError, "keys of a dict are str, Symbol, Character or int, not %s", Py_TYPE(key)->tp_name);
}

cairn_value kept_key(Machine* machine, const Entry& entry) {
  if (entry.kind != 0) return to_cairn(machine, entry.key);
  const long long number = PyLong_AsLongLong(entry.key);
  const Value constant(machine, number >= 0 && number < kFirstText ? constant_of(machine, static_cast<std::uint64_t>(number))
                                                                   : text_of_number(machine, number));
  const cairn_value item = constant.get();
  cairn_value list{};
  need(cairn_make_list(machine->vm, &item, 1, &list));
  return list;
}

cairn_value tree_of(Machine* machine, const std::vector<Entry>& entries, std::size_t from, std::size_t to) {
  if (from == to) return cairn_null();
  let_signals_in();
  const std::size_t middle = from + (to - from) / 2;
  Values node(machine);
  node.list.push_back(constant_of(machine, to - from + 1));
  node.list.push_back(tree_of(machine, entries, from, middle));
  node.list.push_back(kept_key(machine, entries[middle]));
  try {
    node.list.push_back(to_cairn(machine, entries[middle].value));
  } catch (const Raised&) {
    raise_within("[%R]", entries[middle].key);
  }
  node.list.push_back(tree_of(machine, entries, middle + 1, to));
  cairn_value value{};
  need(cairn_make_vector(machine->vm, node.list.data(), node.list.size(), &value));
  return value;
}

} // namespace

bool number_of_constant(Machine* machine, cairn_value constant, std::uint64_t& number) {
  std::uint32_t code = 0;
  if (cairn_get_character(constant, &code) == CAIRN_OK) {
    number = code - 0x100;
    return code >= 0x100;
  }
  cairn_value car{}, cdr{};
  if (cairn_get_pair(constant, &car, &cdr) != CAIRN_OK) return false;
  const Value first(machine, car), second(machine, cdr);
  std::uint32_t high = 0, low = 0;
  if (cairn_get_character(car, &high) != CAIRN_OK || cairn_get_character(cdr, &low) != CAIRN_OK) return false;
  number = static_cast<std::uint64_t>(high - 0x100) * 0x8000 + (low - 0x100);
  return high >= 0x100 && low >= 0x100;
}

bool is_node(Machine* machine, const Values& items) {
  std::uint64_t weight = 0;
  return items.list.size() == 5 && number_of_constant(machine, items.list[0], weight) && weight >= 2 && is_side(items.list[1]) &&
         is_side(items.list[4]);
}

cairn_value dictionary_of(Machine* machine, PyObject* given) {
  const Owned copy(checked(PyDict_Copy(given))); // nothing that is converted can change it
  std::vector<Entry> entries;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(copy.get(), &at, &key, &value) != 0;) {
    let_signals_in();
    entries.push_back(entry_of(key, value));
  }
  // By what the keys are, whatever a class of Python's says of its order.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    let_signals_in();
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.kind == 0 ? PyLong_AsLongLong(a.key) < PyLong_AsLongLong(b.key) : PyUnicode_Compare(a.key, b.key) < 0;
  });
  return tree_of(machine, entries, 0, entries.size());
}

} // namespace cairn::python
