// See update.h.
#include "vm/runs/update.h"

#include "vm/machine/tensors.h"
#include "vm/runs/children.h"
#include "vm/runs/holders.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/runs/weighing.h"
#include "vm/schedule/binomials.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace cairn::runs {

using machine::ProgramError;
using machine::rules::Owned;
using value::Object;

namespace {

const char* name_of(const SweepState& s) {
  bool checkpoint = as_checkpoint(s) != nullptr;
  if (s.update->in_place) return checkpoint ? "checkpoint-*j-update!" : "*j-update!";
  return checkpoint ? "checkpoint-*j-update" : "*j-update";
}

// Everything is swept, so that no leaf's cotangent grows any more.
bool all_swept(const SweepState& s) {
  if (const auto* c = as_checkpoint(s)) return c->complete;
  return s.sweeping && s.position == 0 && s.work->composites.empty() && s.work->first_reads.empty();
}

// The leaf whose turn it is; kNone: none.
std::uint32_t next_leaf(SweepState& s) {
  Update& u = *s.update;
  if (s.sweeping && !s.work->first_reads.empty()) {
    const tape::Tape& t = *s.work;
    const tape::FirstRead& first = t.first_reads.back();
    bool composites_done = t.composites.empty() || t.composites.back().node < first.node;
    if (s.position > first.node || !composites_done) return tape::kNone;
    auto found = u.tensors.find(first.serial);
    want(found != u.tensors.end() && !u.leaves[found->second.leaf].done);
    return found->second.leaf;
  }
  if (!all_swept(s)) return tape::kNone;
  while (u.rest < u.leaves.size() && u.leaves[u.rest].done) ++u.rest;
  return u.rest < u.leaves.size() ? u.rest : tape::kNone;
}

// Marks what the operator read that is the last one on the tape and began at that step: always in one order, whether it is known
// from the first run or found out one by one.
void mark_operator(tape::Tape& tape, const Update& u, std::uint64_t steps) {
  while (!tape.first_reads.empty() && tape.first_reads.back().steps == steps) tape.first_reads.pop_back();
  for (const auto& [serial, t] : u.tensors)
    if (t.first_read == steps) tape.first_reads.push_back({tape.composites.back().node, serial, steps});
}

// The cotangent of a leaf; it is taken out. Exact 0: it has none.
Value take_cotangent(Engine& engine, SweepState& s, const Update::Leaf& l) {
  Heap& heap = engine.heap();
  const Value none = value::integer_unchecked(0);
  if (value::is_tensor(l.leaf)) {
    std::uint64_t serial = l.leaf.other()->serial;
    if (s.sweeping) {
      auto& on_tape = s.work->tensor_cotangents;
      if (auto found = on_tape.find(s.work->tensor_node(serial)); found != on_tape.end())
        return heap.make_tensor(std::move(on_tape.extract(found).mapped()));
    }
    auto found = s.tensors_through.find({serial, 0});
    return found != s.tensors_through.end() ? heap.make_tensor(std::move(s.tensors_through.extract(found).mapped())) : none;
  }
  if (l.node != tape::kNone) {
    want(s.sweeping && l.node < s.work->size());
    double c = s.work->cotangent(l.node);
    return tape::is_absent(c) ? none : value::flonum(c);
  }
  Cotangent* found = s.through.find(l.place);
  return found != nullptr ? value::flonum(found->value) : none;
}

// Bytes of the tensors in the state of a leaf: their elements, and what stands beside these.
struct StateBytes {
  std::uint64_t elements = 0, beside = 0;
  std::uint64_t all() const { return elements + beside; }
};

constexpr std::uint64_t kBesideTensor = ops::kBesideElements + sizeof(value::TensorObject);

// Of those that are older than `since`, or those that are not.
StateBytes bytes_of_state(Engine& engine, Value state, std::uint64_t since, bool older) {
  value::ChargedSet<const ops::Storage*> met{value::ChargedAllocator<const ops::Storage*>(engine.heap())};
  StateBytes bytes;
  contains(engine.heap(), state, [&](Value v) {
    if (!value::is_tensor(v)) return false;
    const ops::Storage* const s = value::tensor_of(v).storage.get();
    if (s == nullptr || (s->birth != 0 && s->birth < since) != older || !met.insert(s).second) return false;
    bytes.elements += static_cast<std::uint64_t>(s->bytes);
    bytes.beside += kBesideTensor;
    return false;
  });
  return bytes;
}

std::uint64_t bytes_of_leaf(Value leaf) {
  return value::is_tensor(leaf) ? static_cast<std::uint64_t>(value::tensor_of(leaf).bytes()) : 0;
}

// What a state of zeros is taken to become in the first step, before any rule has run: two tensors like the leaf, each in a pair,
// as Adam's. Most other rules make one, and then the plan of that step leaves some memory unused.
constexpr std::uint64_t kCopiesInState = 2;

std::uint64_t bytes_of_first_state(Value leaf) {
  return value::is_tensor(leaf) ? kCopiesInState * (bytes_of_leaf(leaf) + kBesideTensor + sizeof(value::Pair)) : 0;
}

// Whether something beside the update holds its states: then they stay when rules make others.
bool states_are_held(Engine& engine, const SweepState& s) {
  value::ChargedVector<Value> values(engine.globals.begin(), engine.globals.end(), engine.heap());
  values.push_back(s.x);
  const std::uint64_t without = reachable_bytes(engine, engine.runs, values);
  std::uint64_t states = 0;
  for (const Update::Leaf& l : s.update->leaves) {
    values.push_back(l.state);
    states += bytes_of_state(engine, l.state, UINT64_MAX, true).all();
  }
  return reachable_bytes(engine, engine.runs, values) - without < states / 2;
}

} // namespace

bool has_states(Engine& engine, const SweepState& s) {
  return std::ranges::any_of(s.update->leaves,
                             [&](const Update::Leaf& l) { return bytes_of_state(engine, l.state, UINT64_MAX, true).all() != 0; });
}

std::vector<schedule::UpdatedLeaf> updated_leaves(Engine& engine, const SweepState& s) {
  const Update& u = *s.update;
  const std::uint64_t begin = as_checkpoint(s)->begin;
  std::vector<std::uint64_t> made(u.leaves.size(), 0);
  StateBytes done;
  std::uint64_t of_done = 0, leaves_done = 0;
  for (std::size_t i = 0; i < u.leaves.size() && u.begun; ++i) {
    const Update::Leaf& l = u.leaves[i];
    if (!l.done || !value::is_tensor(l.leaf)) continue;
    const StateBytes state = bytes_of_state(engine, l.state, begin, false);
    made[i] = state.all();
    done.elements += state.elements;
    done.beside += state.beside;
    of_done += bytes_of_leaf(l.leaf);
    ++leaves_done;
  }
  std::uint64_t kept = 0; // of states that there are
  for (std::size_t i = 0; i < u.leaves.size(); ++i) {
    const Update::Leaf& l = u.leaves[i];
    if (l.done) {
      made[i] += l.made;
      continue;
    }
    made[i] = bytes_of_state(engine, l.state, begin, true).all();
    kept += made[i];
    if (of_done != 0)
      made[i] =
          static_cast<std::uint64_t>(schedule::Wide{done.elements} * bytes_of_leaf(l.leaf) / of_done) + done.beside / leaves_done;
    else if (u.stateful && is_exact_zero(l.state))
      made[i] = bytes_of_first_state(l.leaf);
  }
  if (kept != 0 && !states_are_held(engine, s)) std::ranges::fill(made, 0);
  std::vector<schedule::UpdatedLeaf> leaves;
  for (const auto& [serial, t] : u.tensors)
    leaves.push_back({serial, t.first_read == machine::kNever ? 0 : t.first_read, u.in_place ? UINT64_MAX : 0, made[t.leaf]});
  return leaves;
}

std::uint64_t held_by_rule(const Update& update) {
  std::uint64_t largest = 0, left = 0;
  for (const Update::Leaf& l : update.leaves) {
    if (l.done) continue;
    largest = std::max(largest, bytes_of_leaf(l.leaf));
    ++left;
  }
  return schedule::held_by_rule(largest, left);
}

std::unique_ptr<Update> Update::clone(Heap& heap) const {
  auto copy = std::make_unique<Update>(*this);
  copy->charged_ = 0;
  copy->account(heap);
  Heap::retain(rule);
  for (const Leaf& l : leaves) {
    Heap::retain(l.leaf);
    Heap::retain(l.state);
  }
  return copy;
}

void Update::release(Heap& heap) {
  heap.release(rule);
  for (const Leaf& l : leaves) {
    heap.release(l.leaf);
    heap.release(l.state);
  }
  heap.charge(heap.tape, -charged_);
}

void Update::account(Heap& heap) {
  constexpr std::size_t kNode = 48; // of a map, beside what it holds
  auto bytes = static_cast<std::int64_t>(leaves.capacity() * sizeof(Leaf) + tensors.size() * (sizeof(Tensor) + kNode));
  heap.charge(heap.tape, bytes - charged_);
  charged_ = bytes;
}

// Without the mark the operator copies what it must: how the best weights of a training are kept.
std::string hint_of_copies(std::string_view name) {
  if (!name.ends_with('!')) return "";
  name.remove_suffix(1);
  return fmt::format("; {} does the same and leaves what is held as it is", name);
}

void want_unshared(Engine& engine, Value x, const char* name) {
  std::vector<Value> pending{x};
  while (!pending.empty()) {
    Value v = pending.back();
    pending.pop_back();
    bool shared = false;
    if (value::is_tensor(v)) {
      const ops::Tensor& t = value::tensor_of(v);
      shared = ops::is_floating(t.dtype) && v.other()->count != 1;
      if (!shared && ops::is_floating(t.dtype) && t.storage && t.storage->count != 1)
        throw ProgramError(fmt::format("{}: a leaf of {} has its elements in common with another tensor, as what index, view or "
                                       "slice gives does: (* 1 leaf) has elements of its own{}",
                                       name, engine.describe(x), hint_of_copies(name)));
    } else if (is_container(v)) {
      Object* o = value::object_of(v);
      for_each_child(o, [&](Value child, std::uint32_t) { pending.push_back(child); });
      shared = o->count != 1 && contains(engine.heap(), v, value::is_tensor);
    }
    if (shared)
      throw ProgramError(fmt::format("{}: something else holds a leaf of {}{}{}", name, engine.describe(x), holder_of(engine, v),
                                     hint_of_copies(name)));
  }
}

void begin_update(Engine& engine, SweepState& s, Value update, bool in_place) {
  want(update.is_pair());
  Heap& heap = engine.heap();
  s.update = std::make_unique<Update>();
  Update& u = *s.update;
  u.in_place = in_place;
  u.rule = Heap::retain(update.pair()->car);
  Value state = update.pair()->cdr;
  u.stateful = state != value::kNull;
  const auto* checkpoint = as_checkpoint(s);
  walk_beside(engine, s.x, u.stateful ? state : s.x, (std::string(name_of(s)) + ": the state").c_str(),
              [&](const PairedLeaf& leaf) {
                Value v = leaf.number;
                Update::Leaf& l = u.leaves.emplace_back(); // from here on the update's own, whatever fails
                l.leaf = Heap::retain(v);
                l.state = u.stateful ? Heap::retain(leaf.part) : value::kNull;
                if (value::is_tensor(v)) {
                  l.done = !ops::is_floating(value::tensor_of(v).dtype);
                  if (!l.done) {
                    u.tensors.emplace(v.other()->serial, Update::Tensor{static_cast<std::uint32_t>(u.leaves.size() - 1)});
                    value::as_tensor_object(v)->flags |= value::kWatched;
                  }
                } else if (checkpoint != nullptr) {
                  l.place = leaf.owner != nullptr ? tape::Place{leaf.owner->serial, leaf.slot} : checkpoint->x_place;
                } else {
                  l.node = v.tape_node();
                  l.leaf = value::flonum(s.work->primal(l.node));
                }
              });
  u.account(heap);
}

void want_apart(Engine& engine, const SweepState& s) {
  if (!s.update || !s.update->in_place) return;
  // What leaves have their elements in, sorted: a value may hold as many tensors as there are leaves. Most values hold none.
  value::ChargedVector<const void*> storages(engine.heap());
  bool sorted = false;
  auto sort_storages = [&] {
    sorted = true;
    for (const Update::Leaf& l : s.update->leaves)
      if (value::is_tensor(l.leaf) && !l.done && value::tensor_of(l.leaf).storage)
        storages.push_back(value::tensor_of(l.leaf).storage.get());
    std::sort(storages.begin(), storages.end(), std::less<>());
  };
  auto is_leaf = [&](Value v) {
    if (!value::is_tensor(v) || !value::tensor_of(v).storage) return false;
    if (!sorted) sort_storages();
    return std::binary_search(storages.begin(), storages.end(), static_cast<const void*>(value::tensor_of(v).storage.get()),
                              std::less<>());
  };
  if (contains(engine.heap(), s.value, is_leaf))
    throw ProgramError(fmt::format("{}: something else holds a leaf: the value of the procedure, {}{}", name_of(s),
                                   engine.describe(s.value), hint_of_copies(name_of(s))));
}

bool SweepState::read(std::uint64_t tensor, std::uint64_t steps) {
  if (!update) return false;
  auto found = update->tensors.find(tensor);
  if (found == update->tensors.end()) return false;
  const SweepState* inner = nullptr; // the outermost operator inside
  for (std::size_t i = engine_->runs.size(); i-- > 0 && engine_->runs[i].run_state() != this;)
    if (const SweepState* const s = derivative_of(engine_->runs[i])) inner = s;
  std::uint64_t at = inner != nullptr ? inner->began : run_position() + steps;
  std::uint64_t& first = found->second.first_read;
  first = std::min(first, at);
  if (work == nullptr || sweeping || at != first) return true;
  if (inner == nullptr)
    work->note_first_read(tensor, at);
  else if (!work->composites.empty() && work->composites.back().serial == inner->began_serial)
    mark_operator(*work, *update, at);
  return true;
}

void begin_inside_update(Engine& engine, SweepState& s, std::uint64_t serial, Tape* tape) {
  for (const machine::Run& r : engine.runs) {
    const SweepState* const outermost = derivative_of(r); // inside another derivative there are no updates of this kind
    if (outermost == nullptr) continue;
    if (!outermost->update) return;
    s.began = outermost->run_position() + (engine.clock - r.start);
    s.began_serial = serial;
    if (tape != nullptr && tape == outermost->tape()) mark_operator(*tape, *outermost->update, s.began);
    return;
  }
}

bool update_is_due(SweepState& s) { return s.update && s.update->pending == tape::kNone && next_leaf(s) != tape::kNone; }

void start_update(Engine& engine, value::Frame* frame, SweepState& s) {
  want(s.update && s.update->pending == tape::kNone);
  Update& u = *s.update;
  std::uint32_t next = next_leaf(s);
  if (next == tape::kNone) {
    engine.deliver(value::kFalse);
    return;
  }
  Heap& heap = engine.heap();
  u.begun = true;
  Update::Leaf& l = u.leaves[next];
  const bool survey = is_surveyed(s) && value::is_tensor(l.leaf);
  Owned cotangent(heap, survey ? machine::tensors::zeros_like(engine, l.leaf) : take_cotangent(engine, s, l));
  u.reached = u.reached || survey || !cotangent.v.is_integer();
  Owned leaf(heap, Heap::retain(l.leaf));
  if (u.in_place && value::is_tensor(l.leaf) && u.copies.use_count() == 1) {
    value::end_aside(*value::as_tensor_object(l.leaf));
    ops::Tensor& old = value::as_tensor_object(l.leaf)->tensor;
    ops::Tensor mine = std::move(old);
    old = ops::description(mine);
    heap.release(leaf.take());
    leaf.v = heap.make_tensor(std::move(mine));
  }
  Owned state(heap, std::exchange(l.state, value::kUnspecified));
  if (s.sweeping && !s.work->first_reads.empty()) s.work->first_reads.pop_back();
  u.pending = next;
  Value arguments[] = {leaf.v, cotangent.v, state.v};
  value::Frame* callee = engine.make_call(u.rule, arguments, 3);
  callee->parent = frame;
  machine::Run& run = engine.current();
  run.top = callee;
  ++run.rules;
  run.in_rule = true;
}

namespace {

// A leaf stays where it is: one that streams would fill the device for good if a state that does not, say, had drawn it there.
void want_residence(Engine& engine, const SweepState& s, const Update::Leaf& l, const ops::Tensor& made) {
  const ops::Tensor& old = value::tensor_of(l.leaf);
  if (old.device() == nullptr || made.device() == nullptr || old.device() == made.device()) return;
  throw ProgramError(
      fmt::format("{}: expected {} on {}, where the leaf is, from the rule, got one on {}; (to-device t '{}) moves "
                  "what the rule computes with, or what it gives",
                  name_of(s), engine.describe(l.leaf), old.device()->name(), made.device()->name(), old.device()->name()));
}

} // namespace

void end_update(Engine& engine, SweepState& s, Value result) {
  Owned r(engine.heap(), result);
  if (!s.update || s.update->pending == tape::kNone) return;
  if (machine::Run& run = engine.current(); run.rules != 0) { // not so of a rule that goes on from a file
    --run.rules;
    run.in_rule = run.rules != 0 || (engine.runs.size() > 1 && engine.runs.end()[-2].in_rule);
  }
  Update& u = *s.update;
  Update::Leaf& l = u.leaves[u.pending];
  if (!result.is_pair())
    throw ProgramError(fmt::format("{}: expected the pair of a leaf and its state from the rule, got {}{}", name_of(s),
                                   engine.describe(result),
                                   result.is_procedure() ? "; is what makes a rule meant, as (adam .01) does?" : ""));
  Value made = result.pair()->car, state = result.pair()->cdr;
  if (!u.stateful && state != value::kNull)
    throw ProgramError(
        fmt::format("{}: the rule gave the state {}, and there is none: begin with 0 for one of zeros, or give back '()",
                    name_of(s), engine.describe(state)));
  if (u.in_place && value::is_tensor(l.leaf)) {
    // The rule may know numbers of forward levels that the operator does not see: then it gives tensors of those levels.
    const ops::Tensor& old = value::tensor_of(l.leaf);
    Value plain = engine.primal(made);
    if (!value::is_tensor(plain) || value::tensor_of(plain).dtype != old.dtype || !(value::tensor_of(plain).shape == old.shape))
      throw ProgramError(
          fmt::format("{}: expected {} from the rule, got {}", name_of(s), engine.describe(l.leaf), engine.describe(made)));
    want_residence(engine, s, l, value::tensor_of(plain));
  }
  if (is_surveyed(s)) { // nobody wants to have it
    l.made = bytes_of_state(engine, state, as_checkpoint(s)->begin, false).all();
    made = state = value::kUnspecified;
  }
  engine.heap().release(std::exchange(l.leaf, Heap::retain(made)));
  engine.heap().release(std::exchange(l.state, Heap::retain(state)));
  l.done = true;
  u.pending = tape::kNone;
}

Value updated_result(Engine& engine, SweepState& s) {
  Heap& heap = engine.heap();
  Update& u = *s.update;
  auto rebuilt = [&](Value Update::Leaf::*part) {
    std::size_t next = 0;
    return copy_value(engine, s.x, Sharing::graph, [&](Value, Object*, std::uint32_t) {
      want(next < u.leaves.size() && u.leaves[next].done);
      return Heap::retain(u.leaves[next++].*part);
    });
  };
  // All is done. A training whose loss has nothing to do with its parameters is allowed and a mistake.
  const bool has_leaves = std::ranges::any_of(u.leaves, [](const Update::Leaf& l) {
    return !value::is_tensor(l.leaf) || ops::is_floating(value::tensor_of(l.leaf).dtype);
  });
  if (!u.reached && has_leaves && engine.unreached.empty()) engine.unreached = place_of_call(engine);
  Owned x(heap, rebuilt(&Update::Leaf::leaf));
  Owned state(heap, u.stateful ? rebuilt(&Update::Leaf::state) : value::kNull);
  Value tail = heap.cons(state.take(), value::kNull);
  tail = heap.cons(x.take(), tail);
  return heap.cons(Heap::retain(s.value), tail);
}

} // namespace cairn::runs
