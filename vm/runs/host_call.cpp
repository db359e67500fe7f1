// Procedures of the host. A call is one step; to derivatives it is one operation whose Jacobian the host knows. What the host
// returns is rebuilt from a flat list of unboxed values, the same whether it was just computed or is read from a log of effects,
// so that a replay makes the same objects with the same serials.
#include "ops/operators/runtime.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/tensor_operands.h"
#include "vm/runs/graph.h"
#include "vm/runs/host_operator.h"
#include "vm/runs/operators.h"
#include "vm/text/utf8.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cairn::runs {

using machine::EffectLog;
using machine::HostProcedure;
using machine::ProgramError;
using machine::rules::Owned;

namespace {

// --- data as a flat list, in preorder: atoms as they are; a pair, a vector or a text after its kind: the value that programs
// never see and a number. A tensor has its type, its axes and their sizes before its elements.
enum class Compound : std::int64_t { pair, vector, string, symbol, tensor, count };
constexpr std::size_t kBytesPerValue = 5; // of a text or of elements, in an exact integer
using Flat = value::ChargedVector<Value>;

// Owned values, as many as the host or the program likes.
struct ChargedValues {
  explicit ChargedValues(Heap& h) : heap(h), list(h) {}
  ~ChargedValues() {
    for (Value v : list) heap.release(v);
  }
  ChargedValues(const ChargedValues&) = delete;
  ChargedValues& operator=(const ChargedValues&) = delete;
  // Takes v over, also where there is no room for it.
  void add(Value v) {
    Owned guard(heap, v);
    list.push_back(v);
    guard.take();
  }
  Heap& heap;
  Flat list;
};

void put_compound(Flat& out, Compound compound) {
  out.push_back(value::kUndefined);
  out.push_back(value::integer_unchecked(static_cast<std::int64_t>(compound)));
}
std::size_t values_of_text(std::int64_t bytes) { return (static_cast<std::size_t>(bytes) + kBytesPerValue - 1) / kBytesPerValue; }

// Walks a flat list that comes from a log, and so perhaps from a hostile file: true if it is one whole value. `number` sees its
// numbers.
template <class F> bool walk(std::span<const Value> flat, F&& number) {
  std::size_t wanted = 1, at = 0;
  while (wanted > 0) {
    if (at == flat.size() || flat[at].is_object() || flat[at].is_taped()) return false;
    Value v = flat[at++];
    --wanted;
    if (v == value::kUndefined) {
      auto whole = [&] { return at < flat.size() && flat[at].is_integer() && flat[at].integer() >= 0; };
      if (!whole() || flat[at].integer() >= static_cast<std::int64_t>(Compound::count)) return false;
      auto compound = static_cast<Compound>(flat[at++].integer());
      if (compound == Compound::pair) {
        wanted += 2;
        continue;
      }
      std::int64_t elements = 1;
      if (compound == Compound::tensor) {
        if (!whole() || flat[at].integer() >= static_cast<std::int64_t>(ops::kDTypes)) return false;
        elements = ops::bytes_of(static_cast<ops::DType>(flat[at++].integer()));
        if (!whole() || flat[at].integer() > ops::kMostAxes) return false;
        for (std::int64_t axes = flat[at++].integer(); axes > 0; --axes)
          if (!whole() || __builtin_mul_overflow(elements, flat[at++].integer(), &elements)) return false;
      }
      if (!whole()) return false;
      std::int64_t length = flat[at++].integer();
      if (compound == Compound::tensor && length != elements) return false;
      if (compound == Compound::vector) {
        if (static_cast<std::uint64_t>(length) > flat.size()) return false;
        wanted += static_cast<std::size_t>(length);
      } else {
        if (values_of_text(length) > flat.size() - at) return false;
        for (std::size_t n = values_of_text(length); n > 0; --n)
          if (!flat[at++].is_integer()) return false;
      }
    } else if (v.is_flonum() || v.is_integer()) {
      number(v);
    }
  }
  return at == flat.size();
}

void flatten_text(std::string_view text, Flat& out) {
  out.push_back(value::integer_unchecked(static_cast<std::int64_t>(text.size())));
  for (std::size_t i = 0; i < text.size(); i += kBytesPerValue) {
    std::int64_t packed = 0;
    std::memcpy(&packed, text.data() + i, std::min(kBytesPerValue, text.size() - i));
    out.push_back(value::integer_unchecked(packed));
  }
}

Flat flatten(Engine& engine, const HostProcedure& procedure, Value root) {
  Flat out(engine.heap()), work({root}, engine.heap());
  while (!work.empty()) {
    Value v = work.back();
    work.pop_back();
    if (v.is_pair()) {
      put_compound(out, Compound::pair);
      work.push_back(v.pair()->cdr);
      work.push_back(v.pair()->car);
    } else if (value::is_vector(v)) {
      const value::Vector* items = value::as_vector(v);
      put_compound(out, Compound::vector);
      out.push_back(value::integer_unchecked(static_cast<std::int64_t>(items->length)));
      for (std::uint64_t i = items->length; i-- > 0;) work.push_back(items->items()[i]);
    } else if (value::is_string(v) || value::is_symbol(v)) {
      put_compound(out, value::is_string(v) ? Compound::string : Compound::symbol);
      flatten_text(value::as_text(v)->view(), out);
    } else if (value::is_tensor(v) && value::tensor_of(v).storage) {
      const ops::Tensor& t = value::tensor_of(v);
      put_compound(out, Compound::tensor);
      out.push_back(value::integer_unchecked(static_cast<std::int64_t>(t.dtype)));
      out.push_back(value::integer_unchecked(t.rank()));
      for (std::int64_t size : t.shape) {
        if (!value::fits_integer(size)) // of a tensor without elements
          throw ProgramError(
              fmt::format("{}: the host returned a tensor of shape {}, with a size beyond {}, the largest exact integer",
                          procedure.name, t.shape.text(), value::kMostInteger));
        out.push_back(value::integer_unchecked(size));
      }
      value::ChargedVector<char> elements(static_cast<std::size_t>(t.bytes()), engine.heap());
      engine.tensors().runtime.read(t, elements.data());
      flatten_text({elements.data(), elements.size()}, out);
    } else if (!v.is_object() && !v.is_taped()) {
      out.push_back(v);
    } else {
      throw ProgramError(procedure.name + ": the host returned a procedure or a capsule; it may return other data only");
    }
  }
  return out;
}

// Builds the value that `flat` describes; `number` gives the value (owned) that stands for each number, in preorder.
class Builder {
public:
  Builder(Engine& engine, std::span<const Value> flat)
      : engine_(engine), heap_(engine.heap()), flat_(flat), open_(engine.heap()) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  template <class F> Value build(F&& number) {
    for (;;) {
      Value v = next();
      auto compound = v == value::kUndefined ? static_cast<Compound>(next().integer()) : Compound::count;
      if (compound == Compound::pair) {
        open_.push_back({2, false});
        continue;
      }
      if (compound == Compound::vector) {
        open_.push_back({static_cast<std::uint64_t>(next().integer()), true});
        if (open_.back().parts != 0) continue;
        open_.pop_back();
        done_.add(value::of_other(heap_.make_vector(0)));
      } else if (compound == Compound::tensor) {
        done_.add(tensor());
      } else if (compound != Compound::count) {
        const value::ChargedVector<char> held = bytes();
        const std::string_view t(held.data(), held.size());
        if (!text::is_utf8(t)) throw ProgramError("the host returned text that is not UTF-8");
        done_.add(compound == Compound::string ? heap_.make_string(t) : heap_.make_symbol(t));
      } else {
        done_.add(v.is_flonum() || v.is_integer() ? number(v) : v);
      }
      while (!open_.empty() && --open_.back().left == 0) close();
      if (open_.empty()) {
        Value whole = done_.list.back();
        done_.list.pop_back();
        return whole;
      }
    }
  }

private:
  struct Open {
    Open(std::uint64_t n, bool v) : parts(n), left(n), vector(v) {}
    std::uint64_t parts, left;
    bool vector;
  };
  Value next() { return flat_[at_++]; }
  Value tensor() {
    auto dtype = static_cast<ops::DType>(next().integer());
    ops::Shape shape;
    for (std::int64_t axes = next().integer(); axes > 0; --axes) shape.push_back(next().integer());
    const value::ChargedVector<char> elements = bytes();
    ops::Runtime& runtime = engine_.tensors().runtime;
    return machine::tensors::translated(
        "", [&] { return heap_.make_tensor(runtime.from_host(dtype, shape, runtime.default_device(), elements.data())); });
  }
  value::ChargedVector<char> bytes() {
    value::ChargedVector<char> t(static_cast<std::size_t>(next().integer()), heap_);
    for (std::size_t i = 0; i < t.size(); i += kBytesPerValue) {
      std::int64_t packed = next().integer();
      std::memcpy(t.data() + i, &packed, std::min(kBytesPerValue, t.size() - i));
    }
    return t;
  }
  void close() {
    Open o = open_.back();
    value::ChargedVector<Value>& done = done_.list;
    const std::size_t first = done.size() - o.parts;
    if (o.vector) {
      value::Vector* v = heap_.make_vector(o.parts);
      std::copy(done.begin() + static_cast<std::ptrdiff_t>(first), done.end(), v->items());
      done.resize(first + 1);
      done[first] = value::of_other(v);
    } else {
      Value car = done[first], cdr = done[first + 1];
      done.resize(first + 1);
      done[first] = value::kUnspecified;
      done[first] = heap_.cons(car, cdr);
    }
    open_.pop_back();
  }

  Engine& engine_;
  Heap& heap_;
  std::span<const Value> flat_;
  std::size_t at_ = 0;
  value::ChargedVector<Open> open_;
  ChargedValues done_{heap_};
};

bool is_dual(Value v) { return v.is_taped() || value::is_bundle(v); }

// --- what the host gives for arguments without tapes and bundles

// Arguments as the host sees them: copies where numbers of a derivative are in them. The copies are not of the program: its
// serials stay.
class PlainArguments {
public:
  PlainArguments(Engine& engine, std::span<const Value> arguments) : engine_(engine), values_(engine.heap()) {
    for (Value v : arguments) values_.add(plain(v));
  }
  std::span<const Value> values() const { return values_.list; }

private:
  Value plain(Value v) {
    if (is_dual(v)) return Heap::retain(engine_.primal(v));
    if (!v.is_object() || !contains(engine_.heap(), v, is_dual)) return Heap::retain(v);
    std::uint64_t serial = engine_.heap().next_serial;
    Value copy = copy_value(engine_, v, Sharing::graph,
                            [&](Value number, value::Object*, std::uint32_t) { return Heap::retain(engine_.primal(number)); });
    engine_.heap().next_serial = serial;
    return copy;
  }
  Engine& engine_;
  value::OwnedValues values_;
};

Flat call(Engine& engine, const HostProcedure& procedure, const PlainArguments& plain) {
  std::uint64_t serial = engine.heap().next_serial;
  Owned result(engine.heap(), procedure.call(plain.values()));
  engine.heap().next_serial = serial;
  return machine::tensors::translated(procedure.name, [&] { return flatten(engine, procedure, result.v); });
}

// A call that must not be repeated is an effect: its flat result stands in the logs behind its length. There is room for a single
// value before it happens. What else it returns has a size that nobody knows before, and where there is no memory for that, no
// gradient begins again: it would call the host a second time.
Flat call_once(Engine& engine, const HostProcedure& procedure, std::span<const Value> arguments) {
  std::vector<EffectLog*> fresh;
  EffectLog* log = engine.effects.replaying_log(fresh);
  Flat flat(engine.heap());
  const auto note = [&] {
    engine.effects.record(fresh, value::integer_unchecked(static_cast<std::int64_t>(flat.size())));
    for (Value v : flat) engine.effects.record(fresh, v);
  };
  if (log != nullptr) {
    engine.effects.make_room(fresh, 1);
    auto again = [&] {
      if (log->position >= log->happened)
        throw ProgramError(procedure.name + ": the result of a call that is replayed is not known");
      return log->inputs[log->position++];
    };
    Value length = again();
    for (std::int64_t i = 0; length.is_integer() && i < length.integer(); ++i) flat.push_back(again());
    if (!walk(flat, [](Value) {})) throw ProgramError(procedure.name + ": the log of a replay does not fit");
    note();
    return flat;
  }
  constexpr std::uint64_t kAtom = 2; // with its length
  engine.effects.make_room(fresh, kAtom);
  PlainArguments plain(engine, arguments);
  try {
    flat = call(engine, procedure, plain);
    engine.effects.make_room(fresh, flat.size() + 1);
    note();
    return flat;
  } catch (const value::FinalBudgetExceeded&) {
    throw;
  } catch (const value::BudgetExceeded& e) {
    throw value::FinalBudgetExceeded(e.what(), true);
  }
}

// --- derivatives

double real(Value v) { return v.is_integer() ? static_cast<double>(v.integer()) : v.flonum(); }

// The numbers of the arguments in preorder, read like any field of an object, so that the tape knows their places.
class Leaves {
public:
  Leaves(Engine& engine, std::span<const Value> arguments) : values_(engine.heap()) {
    Tape* tape = engine.runs.back().tape;
    ChargedValues work(engine.heap());
    for (Value v : arguments) {
      work.add(Heap::retain(v));
      while (!work.list.empty()) {
        Owned at(engine.heap(), work.list.back());
        work.list.pop_back();
        if (engine.is_number(at.v)) {
          values_.add(at.take());
        } else if (at.v.is_pair()) {
          value::Pair* p = at.v.pair();
          Owned car(engine.heap(), engine.read_field(tape, p, 0, p->car));
          work.add(engine.read_field(tape, p, 1, p->cdr));
          work.add(car.take());
        } else if (value::is_vector(at.v)) {
          value::Vector* items = value::as_vector(at.v);
          std::size_t first = work.list.size();
          for (std::uint64_t i = 0; i < items->length; ++i)
            work.add(engine.read_field(tape, items, static_cast<std::uint32_t>(i), items->items()[i]));
          std::reverse(work.list.begin() + static_cast<std::ptrdiff_t>(first), work.list.end());
        }
      }
    }
  }
  std::span<const Value> values() const { return values_.list; }

private:
  ChargedValues values_;
};

// Reverse mode: result y is one chain of records, two operands each.
Value on_tape(Tape& tape, double y, std::span<const Value> x, std::span<const double> row) {
  Value sum = value::kUnspecified;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (!tape.has(x[j])) continue;
    sum = sum.is_taped() ? tape.append(y, sum.tape_node(), 1.0, x[j].tape_node(), row[j])
                         : tape.append(y, x[j].tape_node(), row[j], tape::kNone, 0);
  }
  return sum.is_taped() ? sum : value::flonum(y);
}

// Forward mode: the tangent of a result for the outermost tag among the numbers.
Value as_bundle(Engine& engine, std::uint64_t tag, double y, std::span<const Value> x, std::span<const double> row) {
  Tape* tape = engine.runs.back().tape;
  Heap& heap = engine.heap();
  Owned tangent(heap, value::flonum(0));
  bool first = true;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (!value::is_bundle(x[j]) || value::as_bundle(x[j])->tag != tag) continue;
    value::Bundle* b = value::as_bundle(x[j]);
    Owned t(heap, engine.read_field(tape, b, 1, b->tangent));
    Owned part(heap, engine.binary(machine::Opcode::mul, value::flonum(row[j]), t.v));
    Value sum = first ? part.take() : engine.binary(machine::Opcode::add, tangent.v, part.v);
    heap.release(std::exchange(tangent.v, sum));
    first = false;
  }
  return heap.make_bundle(tag, value::flonum(y), tangent.take());
}

Value differentiated(Engine& engine, const HostProcedure& procedure, std::span<const Value> arguments,
                     std::span<const Value> flat) {
  Tape* tape = engine.runs.back().tape;
  Leaves leaves(engine, arguments);
  std::span<const Value> x = leaves.values();
  std::uint64_t tag = 0;
  for (Value v : x)
    if (value::is_bundle(v)) tag = std::max(tag, value::as_bundle(v)->tag);
  bool active = tag != 0 || (tape != nullptr && std::ranges::any_of(x, [&](Value v) { return tape->has(v); }));
  if (!active) return Builder(engine, flat).build([](Value v) { return v; });
  // The Jacobian is a constant to whatever is outside: only first derivatives are right, so others are refused. By where the call
  // stands, not by what happens to be on the tape, so that every schedule says the same.
  bool nested = tag != 0 && (tape != nullptr || std::ranges::any_of(x, [](Value v) {
                               return value::is_bundle(v) && is_dual(value::as_bundle(v)->primal);
                             }));
  if (nested)
    throw ProgramError(procedure.name + ": the host knows its first derivatives only, and a derivative of those is asked for");
  value::ChargedVector<double> point(engine.heap()), value(engine.heap());
  for (Value v : x) point.push_back(engine.to_double(v));
  walk(flat, [&](Value v) { value.push_back(real(v)); });
  value::ChargedVector<double> jacobian(point.size() * value.size(), engine.heap());
  procedure.derivative(point, value, jacobian);
  std::size_t i = 0;
  return Builder(engine, flat).build([&](Value) {
    std::span<const double> row = std::span<const double>(jacobian).subspan(i * point.size(), point.size());
    double y = value[i++];
    return tag != 0 ? as_bundle(engine, tag, y, x, row) : on_tape(*tape, y, x, row);
  });
}

} // namespace

Value call_host(Engine& engine, const HostProcedure& procedure, std::span<const Value> arguments) {
  if (procedure.is_operator()) {
    if (procedure.repeatable) return call_operator(engine, procedure, arguments, {});
    return call_operator(engine, procedure, arguments, [&] {
      return Builder(engine, call_once(engine, procedure, arguments)).build([](Value v) { return v; });
    });
  }
  const Flat flat = procedure.repeatable ? call(engine, procedure, {engine, arguments}) : call_once(engine, procedure, arguments);
  const Run& r = engine.runs.back();
  if (procedure.derivative && (r.tape != nullptr || r.forward_depth != 0)) {
    for (Value v : arguments)
      if (contains(engine.heap(), v, machine::tensors::is_tensor_like))
        throw ProgramError(procedure.name + ": the host's derivative is by numbers, and an argument holds a tensor");
    return differentiated(engine, procedure, arguments, flat);
  }
  return Builder(engine, flat).build([](Value v) { return v; });
}

} // namespace cairn::runs
