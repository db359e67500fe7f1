// See values.h. Both ways go along lists by loops; what nests otherwise nests as deep as Python's limit of recursion allows.
#include "values.h"

#include "arrays.h"
#include "dictionaries.h"
#include "nesting.h"
#include "procedure.h"
#include "tensors.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace cairn::python {

namespace {

// --- to Cairn

constexpr const char* kNoValue = "%s is no value that Cairn has";

cairn_value text_of(Machine* machine, PyObject* object, bool symbol) {
  Py_ssize_t bytes = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &bytes);
  if (text == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) != 0) {
    PyErr_Clear();
    raise(PyExc_ValueError, "%A holds half of a surrogate pair, which is no character and has no UTF-8", object);
  }
  if (text == nullptr) throw Raised{};
  cairn_value value{};
  need((symbol ? cairn_make_symbol : cairn_make_string)(machine->vm, text, static_cast<std::size_t>(bytes), &value));
  return value;
}

cairn_value integer_of(PyObject* object) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    if (number == -1 && PyErr_Occurred() != nullptr) throw Raised{};
    return cairn_integer(number);
  }
  const double real = PyLong_AsDouble(object);
  if (real == -1 && PyErr_Occurred() != nullptr) throw Raised{};
  return cairn_real(real);
}

cairn_value real_of(PyObject* object) {
  const Owned number(checked(PyNumber_Float(object)));
  return cairn_real(PyFloat_AS_DOUBLE(number.get()));
}

cairn_value index_of(PyObject* object) {
  const Owned number(checked(PyNumber_Index(object)));
  return integer_of(number.get());
}

cairn_value scalar_of(PyObject* object) {
  if (PyObject_HasAttrString(object, "dtype") != 0) {
    const Owned dtype(checked(PyObject_GetAttrString(object, "dtype")));
    const Owned kind(checked(PyObject_GetAttrString(dtype.get(), "kind")));
    const char* text = PyUnicode_AsUTF8(kind.get());
    if (text != nullptr && *text == 'b') return cairn_boolean(PyObject_IsTrue(object));
    if (text != nullptr && *text == 'c') raise(PyExc_TypeError, "complex numbers are not known to Cairn");
    if (text != nullptr && (*text == 'm' || *text == 'M')) // some of which are integers to Python, in a unit that goes lost
      raise(PyExc_TypeError, kNoValue, kind_of(object).c_str());
  }
  if (PyIndex_Check(object) != 0) return index_of(object);
  return real_of(object);
}

void add_items(Machine* machine, PyObject* sequence, Values& values) {
  // Converting an item may run code of Python's, which may change the list: look at its size each time.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    let_signals_in();
    try {
      const Owned item(retained(PySequence_Fast_GET_ITEM(sequence, i)));
      values.list.push_back(to_cairn(machine, item.get()));
    } catch (const Raised&) {
      raise_within("[%zd]", i);
    }
  }
}

// A list of the items, each of which is released, from its end: signals are let in meanwhile.
cairn_value linked(Machine* machine, Values& items) {
  cairn_value list = cairn_null();
  try {
    while (!items.list.empty()) {
      let_signals_in();
      const Value item(machine, items.list.back()), rest(machine, list);
      items.list.pop_back();
      list = cairn_unspecified();
      need(cairn_make_pair(machine->vm, item.get(), rest.get(), &list));
    }
  } catch (const Raised&) {
    items.list.push_back(list);
    throw;
  }
  return list;
}

// A list or a vector, by the function that makes it of its items.
cairn_value sequence_of(Machine* machine, PyObject* sequence, decltype(&cairn_make_list) make) {
  Values items(machine);
  items.list.reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence)));
  add_items(machine, sequence, items);
  constexpr std::size_t kLong = 100'000; // what the library makes of so many takes it a millisecond or two
  if (make == cairn_make_list && items.list.size() > kLong) return linked(machine, items);
  if (make == cairn_make_vector && is_node(machine, items))
    raise(PyExc_ValueError, "a tuple that Cairn would take for a dictionary: five items, of which the first is such a Character "
                            "as dictionaries begin with");
  cairn_value value{};
  need(make(machine->vm, items.list.data(), items.list.size(), &value));
  return value;
}

// A chain of pairs along their second parts.
cairn_value pair_of(Machine* machine, PyObject* pair) {
  Values cars(machine);
  Owned rest(retained(pair));
  while (Py_TYPE(rest.get()) == reinterpret_cast<PyTypeObject*>(known.pair)) {
    if (PyTuple_GET_SIZE(rest.get()) != 2) raise(PyExc_ValueError, "a Pair has two parts"); // tuple.__new__ makes others
    let_signals_in();
    cars.list.push_back(to_cairn(machine, PyTuple_GET_ITEM(rest.get(), 0)));
    rest = Owned(retained(PyTuple_GET_ITEM(rest.get(), 1)));
  }
  cairn_value whole = to_cairn(machine, rest.get());
  for (std::size_t i = cars.list.size(); i-- > 0;) {
    const Value cdr(machine, whole);
    whole = cairn_unspecified();
    need(cairn_make_pair(machine->vm, cars.list[i], cdr.get(), &whole));
  }
  return whole;
}

// --- from Cairn

PyObject* text_from(cairn_value value, PyObject* type) {
  char* text = nullptr;
  std::size_t bytes = 0;
  need(cairn_get_text(value, &text, &bytes));
  Owned made(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(bytes), nullptr));
  cairn_free(text);
  checked(made.get());
  return type == nullptr ? made.release() : checked(PyObject_CallFunctionObjArgs(type, made.get(), nullptr));
}

PyObject* character_from(cairn_value value) {
  std::uint32_t code = 0;
  need(cairn_get_character(value, &code));
  const Owned text(checked(PyUnicode_FromOrdinal(static_cast<int>(code))));
  return checked(PyObject_CallFunctionObjArgs(known.character, text.get(), nullptr));
}

PyObject* pairs_from(Machine* machine, cairn_value value, bool alone) {
  Owned list(checked(PyList_New(0)));
  cairn_value rest = value;
  while (cairn_value_kind(rest) == CAIRN_KIND_PAIR) {
    cairn_value car{}, cdr{};
    const cairn_status status = cairn_get_pair(rest, &car, &cdr);
    cairn_value_release(machine->vm, rest); // before its parts are converted, which are then theirs alone
    need(status);
    rest = cdr;
    PyObject* item = nullptr;
    try {
      item = from_cairn(machine, car, alone);
    } catch (const Raised&) {
      cairn_value_release(machine->vm, rest);
      throw;
    }
    const int added = PyList_Append(list.get(), item);
    Py_DECREF(item);
    if (added < 0) {
      cairn_value_release(machine->vm, rest);
      throw Raised{};
    }
  }
  if (cairn_value_kind(rest) == CAIRN_KIND_NULL) return list.release();
  Owned whole(from_cairn(machine, rest, alone));
  for (Py_ssize_t i = PyList_GET_SIZE(list.get()); i-- > 0;)
    whole = Owned(checked(PyObject_CallFunctionObjArgs(known.pair, PyList_GET_ITEM(list.get(), i), whole.get(), nullptr)));
  return whole.release();
}

void items_from(Machine* machine, cairn_value vector, Values& items) {
  const Value whole(machine, vector); // released at the end, so that the items are the list's alone
  std::size_t length = 0;
  need(cairn_get_length(vector, &length));
  items.list.reserve(length);
  for (std::size_t i = 0; i < length; ++i) {
    cairn_value item{};
    need(cairn_get_item(vector, i, &item));
    items.list.push_back(item);
  }
}

PyObject* taken(Machine* machine, Values& items, std::size_t i, bool alone) {
  return from_cairn(machine, std::exchange(items.list[i], cairn_unspecified()), alone);
}

PyObject* key_from(Machine* machine, Values& items) {
  cairn_value car{}, cdr{};
  if (cairn_get_pair(items.list[2], &car, &cdr) != CAIRN_OK) return taken(machine, items, 2, false);
  const Value constant(machine, car), rest(machine, cdr);
  std::uint64_t number = 0;
  if (number_of_constant(machine, car, number)) return checked(PyLong_FromUnsignedLongLong(number));
  const Owned text(text_from(car, nullptr)); // of another number
  if (PyObject* const whole = PyLong_FromUnicodeObject(text.get(), 10)) return whole;
  if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw Raised{};
  PyErr_Clear();
  return checked(PyFloat_FromString(text.get()));
}

void add_node(Machine* machine, Values& items, PyObject* dictionary, bool alone) {
  const Level level(" while reading a dictionary");
  auto side = [&](std::size_t i) {
    if (cairn_value_kind(items.list[i]) == CAIRN_KIND_NULL) return;
    Values inner(machine);
    items_from(machine, std::exchange(items.list[i], cairn_unspecified()), inner);
    if (!is_node(machine, inner)) raise(PyExc_ValueError, "a dictionary that is none");
    add_node(machine, inner, dictionary, alone);
  };
  side(1);
  const Owned key(key_from(machine, items)), value(taken(machine, items, 3, alone));
  const Py_ssize_t before = PyDict_GET_SIZE(dictionary);
  checked(PyDict_SetItem(dictionary, key.get(), value.get()));
  if (PyDict_GET_SIZE(dictionary) == before)
    raise(PyExc_ValueError, "a dictionary whose keys are one key to Python, %R, such as the string and the symbol of a name",
          key.get());
  side(4);
}

PyObject* vector_from(Machine* machine, cairn_value value, bool alone) {
  Values items(machine);
  items_from(machine, value, items);
  if (is_node(machine, items)) {
    Owned dictionary(checked(PyDict_New()));
    add_node(machine, items, dictionary.get(), alone);
    return dictionary.release();
  }
  Owned tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(items.list.size()))));
  for (std::size_t i = 0; i < items.list.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), taken(machine, items, i, alone));
  return tuple.release();
}

} // namespace

cairn_value to_cairn(Machine* machine, PyObject* object) {
  if (PyFloat_CheckExact(object)) return cairn_real(PyFloat_AS_DOUBLE(object));
  if (PyLong_CheckExact(object)) return integer_of(object);
  if (object == Py_None) return cairn_unspecified();
  if (PyBool_Check(object)) return cairn_boolean(object == Py_True ? 1 : 0);
  if (PyUnicode_CheckExact(object)) return text_of(machine, object, false);
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object)) {
    const Level level(" while handing an argument to Cairn");
    if (PyList_Check(object)) return sequence_of(machine, object, cairn_make_list);
    if (PyDict_Check(object)) return dictionary_of(machine, object);
    return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(known.pair) ? pair_of(machine, object)
                                                                          : sequence_of(machine, object, cairn_make_vector);
  }
  if (is_procedure(object)) return value_of_procedure(machine, object);
  if (PyUnicode_Check(object)) {
    if (is_type(object, known.character)) {
      if (PyUnicode_GET_LENGTH(object) != 1) raise(PyExc_ValueError, "a Character is one code point");
      return cairn_character(PyUnicode_READ_CHAR(object, 0));
    }
    return text_of(machine, object, is_type(object, known.symbol));
  }
  if (is_type(object, known.scalar)) return scalar_of(object);
  if (is_array(object)) return tensor_of(machine, object);
  if (PyIndex_Check(object) != 0) return index_of(object);
  if (Py_TYPE(object)->tp_as_number != nullptr && Py_TYPE(object)->tp_as_number->nb_float != nullptr) return real_of(object);
  if (PyCallable_Check(object) != 0)
    raise(PyExc_TypeError,
          "a function of Python's is no value of Cairn's: declare it to compile(hosts=...), and call it by its name");
  raise(PyExc_TypeError, kNoValue, kind_of(object).c_str());
}

PyObject* from_cairn(Machine* machine, cairn_value value, bool alone) {
  switch (cairn_value_kind(value)) {
  case CAIRN_KIND_REAL: {
    double number = 0;
    if (cairn_get_real(value, &number) != CAIRN_OK) break; // of a tape that is gone
    return checked(PyFloat_FromDouble(number));
  }
  case CAIRN_KIND_INTEGER: {
    std::int64_t number = 0;
    need(cairn_get_integer(value, &number));
    return checked(PyLong_FromLongLong(number));
  }
  case CAIRN_KIND_UNSPECIFIED:
    break;
  case CAIRN_KIND_NULL:
    return checked(PyList_New(0));
  case CAIRN_KIND_BOOLEAN: {
    int truth = 0;
    need(cairn_get_boolean(value, &truth));
    return retained(truth != 0 ? Py_True : Py_False);
  }
  case CAIRN_KIND_CHARACTER:
    return character_from(value);
  case CAIRN_KIND_STRING: {
    const Value held(machine, value);
    return text_from(value, nullptr);
  }
  case CAIRN_KIND_SYMBOL: {
    const Value held(machine, value);
    return text_from(value, known.symbol);
  }
  case CAIRN_KIND_TENSOR:
    return array_of(machine, value, alone);
  case CAIRN_KIND_PAIR:
  case CAIRN_KIND_VECTOR: {
    Value held(machine, value);
    const Level level(" while reading a value of Cairn's");
    return cairn_value_kind(value) == CAIRN_KIND_PAIR ? pairs_from(machine, held.release(), alone)
                                                      : vector_from(machine, held.release(), alone);
  }
  default:
    return procedure_of(machine, value, nullptr);
  }
  cairn_value_release(machine->vm, value);
  return retained(Py_None);
}

void parts_of(Machine* machine, cairn_value value, Values& parts) {
  if (cairn_value_kind(value) == CAIRN_KIND_VECTOR) {
    items_from(machine, value, parts);
    if (is_node(machine, parts)) raise(PyExc_TypeError, "a value of the procedure is a dict, no tensor and no number");
    return;
  }
  Values rest(machine);
  rest.list.push_back(value);
  while (cairn_value_kind(rest.list.back()) == CAIRN_KIND_PAIR) {
    cairn_value car{}, cdr{};
    const Value pair(machine, std::exchange(rest.list.back(), cairn_unspecified())); // released before its parts are converted
    need(cairn_get_pair(pair.get(), &car, &cdr));
    rest.list.back() = cdr;
    parts.list.push_back(car);
  }
  if (cairn_value_kind(rest.list.back()) != CAIRN_KIND_NULL)
    raise(PyExc_TypeError, "the value of the procedure is a pair whose second part is no list: let it give a list or a vector of "
                           "its parts");
}

Arguments::Arguments(Machine* machine, PyObject* const* objects, std::size_t count, Loans* loans) : machine_(machine) {
  if (count > kFew) {
    many_.resize(count);
    values_ = many_.data();
  }
  try {
    for (; made_ < count; ++made_)
      values_[made_] = loans != nullptr ? loans->lent(objects[made_]) : to_cairn(machine, objects[made_]);
  } catch (const Raised&) {
    release();
    raise_within("argument %zd", static_cast<Py_ssize_t>(made_ + 1));
  }
}

void Arguments::release() {
  for (std::size_t i = 0; i < made_; ++i) cairn_value_release(machine_->vm, values_[i]);
}

Arguments::~Arguments() { release(); }

} // namespace cairn::python
