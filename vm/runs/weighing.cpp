// Walks over what states and tapes hold.
#include "vm/runs/weighing.h"

#include "vm/runs/graph.h"
#include "vm/runs/met.h"
#include "vm/runs/operations.h"
#include "vm/runs/states.h"
#include "vm/runs/thinning.h"
#include "vm/schedule/profile.h"
#include "vm/value/charged.h"
#include "vm/value/children.h"

#include <algorithm>

namespace cairn::runs {

using schedule::Weights;
using value::Frame;
using value::Object;

namespace {

// A walk over objects, each once, which can be stopped.
class Walk {
public:
  explicit Walk(Engine& engine) : polls_(engine.meter()), pending_(engine.heap()), met_(engine.heap()) {}

  template <class Enters> void push(Object* o, Enters&& enters) {
    if (enters(o) && (met_once(o) || met_.insert(o))) pending_.push_back(o);
  }
  // Calls seen(o) for what was pushed and for what can be reached through objects for which enters(o) holds; the frames that wait
  // behind a frame are reached if waits(frame) holds.
  template <class Enters, class Waits, class Seen> void drain(Enters&& enters, Waits&& waits, Seen&& seen) {
    while (!pending_.empty()) {
      Object* o = pending_.back();
      pending_.pop_back();
      seen(o);
      if (o->kind != value::Kind::bundle) // those of numbers do not count
        value::for_each_child(o, [&](Value& v, std::uint32_t) {
          polls_.one();
          if (v.is_object()) push(value::object_of(v), enters);
        });
      if (o->kind == value::Kind::frame)
        if (auto* f = static_cast<Frame*>(o); f->parent != nullptr && waits(f)) push(f->parent, enters);
    }
  }

private:
  Polls polls_;
  value::ChargedStack<Object*> pending_;
  Met met_;
};

std::uint64_t bytes_of(const Object* o) {
  std::uint64_t bytes = o->size_class == value::kLarge ? 1024 : std::uint64_t{o->size_class} * 16;
  if (o->kind == value::Kind::vector && o->size_class == value::kLarge) bytes += 8 * static_cast<const value::Vector*>(o)->length;
  return bytes;
}

// With what stands beside its elements, as much on every device: a program takes the same steps on each.
std::uint64_t bytes_of(const ops::Storage* s) { return static_cast<std::uint64_t>(s->bytes + ops::kBesideElements); }

const ops::Tensor* tensor_in(const Object* o) {
  return o->kind == value::Kind::tensor ? &static_cast<const value::TensorObject*>(o)->tensor : nullptr;
}

constexpr std::uint64_t kOfMet = 256; // bytes of what is remembered of an operation's tensors, in several sets

using Elements = value::ChargedSet<const ops::Storage*>; // views share them

// The calls of procedures with rules on a tape. Nothing is recorded while the value of one is computed, so the tensors that it
// gives are the tape's next records: a call belongs to the operation of that number, or to one behind the last.
class RuledCalls {
public:
  struct Call {
    std::size_t at;
    const tape::Composite* composite;
    const tape::Output* output; // null: it ended on a later tape
  };
  RuledCalls(Engine& engine, const tape::Tape& tape) : engine_(engine), calls_(value::ChargedAllocator<Call>(engine.heap())) {
    Polls polls(engine.meter());
    value::ChargedMap<std::uint64_t, const tape::Output*> outputs{value::ChargedAllocator<const tape::Output*>(engine.heap())};
    for (const tape::Output& o : tape.outputs) {
      polls.one();
      outputs.emplace(o.serial, &o);
    }
    std::size_t at = 0;
    for (const tape::Composite& c : tape.composites) {
      polls.one();
      while (at < tape.tensors().size() && tape.tensors()[at]->node < c.node) ++at;
      if (!c.is_ruled()) continue;
      const auto found = outputs.find(c.serial);
      calls_.push_back({at, &c, found != outputs.end() ? found->second : nullptr});
    }
  }
  const value::ChargedVector<Call>& all() const { return calls_; }
  // Calls f(tensor) for those among the arguments, and for those of the value.
  template <class F> void each_argument(const Call& call, F&& f) const { each(call.composite->x, f); }
  template <class F> void each_result(const Call& call, F&& f) const {
    if (call.output != nullptr) each(call.output->skeleton, f);
  }
  template <class F> void each_storage(const Call& call, F&& f) const {
    const auto storage = [&](const value::TensorObject& t) {
      if (t.tensor.storage) f(t.tensor.storage.get());
    };
    each_argument(call, storage);
    each_result(call, storage);
  }

private:
  template <class F> void each(Value v, F&& f) const {
    contains(engine_.heap(), v, [&](Value leaf) {
      if (value::is_tensor(leaf)) f(*value::as_tensor_object(leaf));
      return false;
    });
  }
  Engine& engine_;
  value::ChargedVector<Call> calls_;
};

Elements elements_of(Engine& engine, const tape::Tape* tape) {
  Elements elements{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  if (tape == nullptr) return elements;
  const RuledCalls ruled(engine, *tape);
  for (const RuledCalls::Call& call : ruled.all()) ruled.each_storage(call, [&](const ops::Storage* s) { elements.insert(s); });
  Polls polls(engine.meter());
  for (const auto& record : tape->tensors()) {
    polls.one();
    for (const ops::Tensor& t : record->inputs.all()) elements.insert(t.storage.get());
    for (const ops::Tensor& t : record->outputs.all()) elements.insert(t.storage.get());
  }
  return elements;
}

// Goes over a tape as if it were made lean: told(i, record, inputs, derived) of each record before it lets go of anything, and
// left(i, storage) of what it then still has. Calls with rules keep all.
template <class Told, class Left> void each_lean(Engine& engine, const tape::Tape& tape, Told&& told, Left&& left) {
  Polls polls(engine.meter());
  tape::Derived derived(engine.heap());
  std::size_t i = 0;
  for (const auto& record : tape.tensors()) {
    polls.one();
    std::vector<ops::Tensor> inputs = record->inputs.all(), outputs = record->outputs.all();
    derived.add(*record, inputs, tape::Derived::As::lean, record->cheap);
    told(i, *record, inputs, derived);
    let_go(derived, *record, inputs, outputs);
    for (const std::vector<ops::Tensor>* tensors : {&inputs, &outputs})
      for (const ops::Tensor& t : *tensors)
        if (t.storage) left(i, t.storage.get());
    ++i;
  }
  const RuledCalls ruled(engine, tape);
  for (const RuledCalls::Call& call : ruled.all()) ruled.each_storage(call, [&](const ops::Storage* s) { left(call.at, s); });
}

Elements elements_left(Engine& engine, const tape::Tape* tape) {
  Elements elements{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  if (tape == nullptr) return elements;
  each_lean(
      engine, *tape, [](auto&&...) {}, [&](std::size_t, const ops::Storage* s) { elements.insert(s); });
  return elements;
}

// What the sweep of a lean tape wants of this record and of those that made its operands.
void want(const tape::TensorRecord& record, std::span<const ops::Tensor> inputs, const tape::Derived& derived, Operation& o) {
  const bool itself = derived.has(record.node);
  for (std::size_t i = 0; i < inputs.size() && i < record.operands.size(); ++i) {
    if (!derived.has(record.operands[i])) continue;
    if (itself) o.wanted_again.push_back(record.operands[i]);
    if (record.kind == tape::TensorRecord::Kind::apply && inputs[i].storage) o.wanted.push_back(record.operands[i]);
  }
  if (!itself) return;
  if ((record.op->keep & ops::kKeepOutput) != 0) o.wanted.push_back(record.node);
  if (record.op->view == nullptr) // a view has the elements of what it is of
    for (const std::uint64_t bytes : o.result_bytes) o.again_bytes += bytes + ops::kBesideElements;
}

// What the state at the tape's end holds, and what the tape before it would if it were lean.
struct Beside {
  const Elements &state, &before_left;
};

// What a lean tape would still hold, by birth, and what its sweep would compute again, at most. `operations` are those of the
// tape: each is told what of it such a tape keeps.
template <class Birth>
void weigh_lean(Engine& engine, const tape::Tape& tape, const Beside& beside, Birth&& birth_of,
                std::vector<Operation>& operations, Weights& weights) {
  const std::size_t births = weights.tape.size();
  weights.lean.assign(births, 0);
  weights.lean_before.assign(births, 0);
  weights.lean_after.assign(births, 0);
  Elements met{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  value::ChargedVector<std::uint32_t> again(engine.heap()); // results that somebody wants to have computed again
  each_lean(
      engine, tape,
      [&](std::size_t i, const tape::TensorRecord& record, std::span<const ops::Tensor> inputs, const tape::Derived& derived) {
        Operation& o = operations[i];
        want(record, inputs, derived, o);
        for (const std::vector<std::uint32_t>* nodes : {&o.wanted, &o.wanted_again})
          again.insert(again.end(), nodes->begin(), nodes->end());
      },
      [&](std::size_t i, const ops::Storage* s) {
        if (!met.insert(s).second) return;
        const std::size_t k = birth_of(s);
        if (k >= births) return;
        weights.lean[k] += bytes_of(s);
        if (beside.before_left.contains(s)) weights.lean_before[k] += bytes_of(s);
        if (beside.state.contains(s)) weights.lean_after[k] += bytes_of(s);
        if (k + 1 == births) operations[i].kept_lean += bytes_of(s);
      });
  std::sort(again.begin(), again.end());
  Polls polls(engine.meter());
  auto next = again.begin();
  for (const auto& record : tape.tensors()) {
    polls.one();
    next = std::lower_bound(next, again.end(), record->node);
    if (next != again.end() && *next < record->end())
      weights.again = schedule::bounded(
          weights.again + schedule::bounded(cost_of(engine.costs, *record, record->inputs.all(), record->outputs.all())));
  }
}

} // namespace

std::int64_t logical_bytes(Engine& engine, const std::vector<Run>& runs, std::uint64_t since) {
  std::int64_t bytes = own_bytes(runs);
  Walk walk(engine);
  Elements elements{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  auto newer = [&](const Object* o) { return o->serial >= since || o->kind == value::Kind::frame; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, newer);
  walk.drain(
      newer, [&](const Frame* f) { return f->serial >= since; },
      [&](const Object* o) {
        bytes += static_cast<std::int64_t>(bytes_of(o));
        const ops::Tensor* t = tensor_in(o);
        if (t == nullptr || !t->storage || !elements.insert(t->storage.get()).second) return;
        if (t->storage->birth == 0 || t->storage->birth >= since) bytes += static_cast<std::int64_t>(bytes_of(t->storage.get()));
      });
  return bytes;
}

std::uint64_t stack_bytes(const std::vector<Run>& runs, std::uint64_t low) {
  std::uint64_t bytes = 0;
  for (const Run& r : runs)
    for (const Frame* f = r.top; f != nullptr && f->serial >= low; f = f->parent) bytes += f->code->frame_bytes();
  return bytes;
}

std::uint64_t reachable_bytes(Engine& engine, const std::vector<Run>& runs, std::span<const Value> values) {
  std::uint64_t bytes = 0;
  Walk walk(engine);
  Elements elements{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  auto all = [](const Object*) { return true; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, all);
  for (const Value v : values)
    if (v.is_object()) walk.push(value::object_of(v), all);
  walk.drain(all, all, [&](const Object* o) {
    bytes += bytes_of(o);
    if (const ops::Tensor* t = tensor_in(o); t != nullptr && t->storage && elements.insert(t->storage.get()).second)
      bytes += bytes_of(t->storage.get());
  });
  return bytes;
}

Weights weigh(Engine& engine, const std::vector<Run>& runs, tape::Tape& tape, const tape::Tape* before,
              const std::vector<std::uint64_t>& births, bool rules_take) {
  Weights weights;
  weights.step = engine.costs.ticks_of_step();
  weights.fresh = engine.costs.ticks_of_fresh();
  const std::size_t last = births.size() - 1;
  weights.state.assign(births.size(), 0);
  weights.tape.assign(births.size(), 0);
  weights.before.assign(births.size(), 0);
  weights.before_lean.assign(births.size(), 0);
  weights.after.assign(births.size(), 0);
  // Nothing is born before the run; what never had an object of its own was made where it was met.
  constexpr std::size_t kOlder = SIZE_MAX;
  auto birth = [&](std::uint64_t serial) {
    const auto behind = std::upper_bound(births.begin(), births.end(), serial);
    return behind == births.begin() ? kOlder : static_cast<std::size_t>(behind - births.begin()) - 1;
  };
  auto birth_of = [&](const ops::Storage* s) { return s->birth == 0 ? last : birth(s->birth); };

  Walk walk(engine);
  Elements of_state{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  Nodes ends{value::ChargedAllocator<Node>(engine.heap())};
  auto newer = [&](const Object* o) { return o->serial >= births.front() || o->kind == value::Kind::frame; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, newer);
  walk.drain(
      newer, [&](const Frame* f) { return f->serial >= births.front(); },
      [&](const Object* o) {
        if (const std::size_t k = birth(o->serial); k != kOlder) weights.state[k] += bytes_of(o);
        const ops::Tensor* t = tensor_in(o);
        if (t == nullptr) return;
        if (const std::uint32_t node = tape.tensor_node(o->serial); node != tape::kNone)
          ends.push_back({node, static_cast<std::uint64_t>(t->bytes())});
        if (!t->storage || !of_state.insert(t->storage.get()).second) return;
        if (const std::size_t k = birth_of(t->storage.get()); k != kOlder) weights.state[k] += bytes_of(t->storage.get());
      });
  weights.together = weights.state[last];
  weights.state[last] += static_cast<std::uint64_t>(own_bytes(runs));

  Elements of_tape{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  const Elements of_before = elements_of(engine, before), left_of_before = elements_left(engine, before);
  // What is remembered of the operations is charged as a whole: a few words for each operand and result.
  const RuledCalls ruled(engine, tape);
  const std::uint64_t remembering = (tape.tensors().size() + ruled.all().size()) * (sizeof(Operation) + kOfOperands);
  const value::Charged remembered(engine.heap(), engine.heap().scratch, static_cast<std::int64_t>(remembering));
  Polls polls(engine.meter());
  std::vector<Operation> operations;
  // `spills`: it may be in a file while the tape waits.
  const auto meet_storage = [&](const ops::Storage* s, Operation& o, bool spills) {
    if (s == nullptr || !of_tape.insert(s).second) return;
    const std::size_t k = birth_of(s);
    if (k == kOlder) return;
    weights.tape[k] += bytes_of(s);
    const bool stays_here = !spills || s->bytes < ops::Device::kLeastSpilled;
    weights.stays += stays_here ? bytes_of(s) : std::uint64_t{ops::kBesideElements};
    if (!stays_here) weights.padding += static_cast<std::uint64_t>(ops::SpillFile::taken_by(s->bytes) - s->bytes);
    if (of_before.contains(s)) weights.before[k] += bytes_of(s);
    if (left_of_before.contains(s)) weights.before_lean[k] += bytes_of(s);
    const bool stays = of_state.contains(s);
    if (stays) weights.after[k] += bytes_of(s);
    if (k != last) return;
    if (!stays) weights.together += bytes_of(s);
    o.kept_new += bytes_of(s);
  };
  const auto meet = [&](const std::vector<ops::Tensor>& tensors, Operation& o) {
    for (const ops::Tensor& t : tensors) meet_storage(t.storage.get(), o, true);
  };
  value::ChargedMap<std::uint32_t, std::uint64_t> old_inputs{
      value::ChargedAllocator<std::uint64_t>(engine.heap())}; // serials by node
  tape.inputs.for_each([&](tape::Place place, const tape::Input& input) {
    if (place.slot == 0 && place.serial < births.front()) old_inputs.emplace(input.node, place.serial);
  });
  value::ChargedSet<std::uint64_t> first_read{value::ChargedAllocator<std::uint64_t>(engine.heap())};
  if (rules_take)
    for (const tape::FirstRead& read : tape.first_reads) first_read.insert(read.serial);
  // The operation that made the operand: nodes ascend.
  const auto used = [&](std::uint32_t node, bool kept) {
    const auto behind = std::upper_bound(operations.begin(), operations.end(), node,
                                         [](std::uint32_t n, const Operation& other) { return n < other.node; });
    if (behind == operations.begin() || node >= std::prev(behind)->end) return;
    Operation& maker = *std::prev(behind);
    maker.last_use = operations.size() - 1;
    maker.result_kept = maker.result_kept || kept;
  };
  auto next_call = ruled.all().begin();
  // Those before record number `at`, as a part of the operation on top.
  const auto add_calls = [&](std::size_t at, Operation& o) {
    for (; next_call != ruled.all().end() && next_call->at <= at; ++next_call) {
      polls.one();
      ruled.each_argument(*next_call, [&](const value::TensorObject& t) {
        if (!ops::is_floating(t.tensor.dtype)) return;
        const auto bytes = static_cast<std::uint64_t>(t.tensor.bytes());
        const std::uint32_t node = tape.tensor_node(t.serial);
        if (node != tape::kNone) {
          o.operands.push_back(node);
          o.operand_bytes.push_back(bytes);
          used(node, true);
          old_inputs.erase(node);
        }
        if (t.serial < births.front()) weights.read.push_back({t.serial, bytes});
      });
      ruled.each_storage(*next_call, [&](const ops::Storage* s) { meet_storage(s, o, false); });
      if (next_call->output == nullptr) continue;
      weights.cost = schedule::bounded(weights.cost + next_call->output->cost);
      weights.largest = std::max(weights.largest, next_call->output->largest);
      o.beside = std::max(o.beside, next_call->output->largest);
    }
  };
  for (const auto& record : tape.tensors()) {
    polls.one();
    const std::vector<ops::Tensor> inputs = record->inputs.all(), outputs = record->outputs.all();
    Operation& o = operations.emplace_back();
    o.node = record->node;
    o.end = record->end();
    o.last_use = operations.size() - 1;
    add_calls(operations.size() - 1, o);
    weights.cost = schedule::bounded(weights.cost + schedule::bounded(cost_of(engine.costs, *record, inputs, outputs)));
    meet(inputs, o);
    meet(outputs, o);
    for (const ops::Tensor& t : outputs) {
      o.result_bytes.push_back(static_cast<std::uint64_t>(t.bytes()));
      o.result_kept = o.result_kept || t.storage;
    }
    for (std::size_t i = 0; i < std::min(inputs.size(), record->operands.size()); ++i) {
      const std::uint32_t node = record->operands[i];
      if (node == tape::kNone || inputs[i].weak) continue;
      o.operands.push_back(node);
      o.operand_bytes.push_back(static_cast<std::uint64_t>(inputs[i].bytes()));
      if (const auto found = old_inputs.find(node); found != old_inputs.end()) {
        weights.read.push_back({found->second, o.operand_bytes.back()});
        if (first_read.contains(found->second)) o.taken.push_back(node);
        old_inputs.erase(found);
      }
      used(node, static_cast<bool>(inputs[i].storage));
    }
    weights.largest = std::max(weights.largest, record->inputs.element_bytes() + record->outputs.element_bytes());
  }
  if (next_call != ruled.all().end()) { // behind the last record
    Operation& o = operations.emplace_back();
    o.node = o.end = tape.size();
    o.last_use = operations.size() - 1;
    add_calls(operations.size() - 1, o);
  }
  weigh_lean(engine, tape, {of_state, left_of_before}, birth_of, operations, weights);
  follow(operations, ends, weights);
  weights.taping = std::max(weights.taping, remembering + tape.tensors().size() * kOfMet); // while it is weighed
  std::sort(weights.read.begin(), weights.read.end(),
            [](const schedule::OldTensor& a, const schedule::OldTensor& b) { return a.serial < b.serial; });
  weights.own = tape.own_bytes();
  weights.stays += tape.own_bytes_shortened();
  // A tensor may be an argument of several calls.
  const auto same = [](const schedule::OldTensor& a, const schedule::OldTensor& b) { return a.serial == b.serial; };
  weights.read.erase(std::unique(weights.read.begin(), weights.read.end(), same), weights.read.end());
  weights.nested = std::ranges::any_of(tape.composites, [](const tape::Composite& c) { return !c.is_ruled(); });
  return weights;
}

} // namespace cairn::runs
