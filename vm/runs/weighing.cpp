// Walks over what states and tapes hold.
#include "vm/runs/weighing.h"

#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "vm/runs/cotangents.h"
#include "vm/runs/marks.h"
#include "vm/runs/met.h"
#include "vm/runs/operations.h"
#include "vm/runs/ruled_calls.h"
#include "vm/runs/states.h"
#include "vm/schedule/profile.h"
#include "vm/tape/derived.h"
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

// What is remembered of an operation while a tape is weighed, in bytes, where nodes are few: half of it is of tables of nodes and
// of what these have been before they grew. Where most nodes are numbers, tables of nodes are what counts.
constexpr std::uint64_t kOfOperation = 392, kOfMet = 256, kOfNode = 16;

// Where a storage was met.
enum : std::uint8_t {
  kOfState = 1, // the state at the end of the tape
  kOfTape = 2,  // the tape
  kLeft = 4,    // what a lean tape would still have
};

// Of a record that has been added to `derived`: whether a lean tape has no more of its inputs or outputs than their description.
class Gone {
public:
  Gone(const tape::TensorRecord& record, const tape::Derived& derived)
      : record_(record), derived_(derived), may_(record.kind == tape::TensorRecord::Kind::apply) {}
  bool input(std::uint32_t i) const { return may_ && derived_.has(record_.operands[i]); }
  bool output(std::uint32_t i) const { return may_ && derived_.has(record_.node + i); }

private:
  const tape::TensorRecord& record_;
  const tape::Derived& derived_;
  bool may_;
};

bool same(const ops::Attributes& a, const ops::Attributes& b) {
  return std::ranges::equal(a.values, b.values, [](const ops::Attribute& one, const ops::Attribute& other) {
    return one.kind() == other.kind() && one.integer() == other.integer() && one.number() == other.number() &&
           one.list() == other.list() && one.device() == other.device();
  });
}

// What operations were modelled to take beside their steps, in ticks (vm/schedule/cost_table.h); where nobody models it, what
// moving operands and results takes. Most programs use an operator for the same shapes again and again, so each is asked about
// those that it had last only once.
class Costs {
public:
  struct Cost {
    std::uint64_t ticks = 0;
    bool of_product = false; // whose sweep takes as much for each operand that has a cotangent
  };
  explicit Costs(Engine& engine) : costs_(engine.costs), last_(ops::all_operators().size(), Last{}, engine.heap()) {}
  Cost of(const tape::TensorRecord& record) {
    if (record.op == nullptr)
      return {costs_.ticks(1, 0, 0, static_cast<double>(record.inputs.element_bytes() + record.outputs.element_bytes()))};
    Last& last = last_[static_cast<std::size_t>(record.op->id)];
    if (last.record == nullptr || !record.inputs.like(last.record->inputs) || !record.outputs.like(last.record->outputs) ||
        !same(record.attributes, last.record->attributes))
      last = {&record, modelled(record)};
    return last.cost;
  }

private:
  Cost modelled(const tape::TensorRecord& record) const {
    const std::vector<ops::Tensor> inputs = record.inputs.all(), outputs = record.outputs.all();
    const ops::Cost cost = ops::Runtime::modelled_cost({*record.op, inputs, record.attributes, nullptr}, outputs);
    return {costs_.ticks(1, cost.products, cost.flops, cost.bytes), cost.products > 0};
  }
  struct Last {
    const tape::TensorRecord* record = nullptr;
    Cost cost;
  };
  const schedule::CostTable& costs_;
  value::ChargedVector<Last> last_; // by operator
};

// What weighing one tape is about.
class Weighing {
public:
  Weighing(Engine& engine, tape::Tape& tape, const std::vector<std::uint64_t>& births)
      : engine_(engine), tape_(tape), births_(births), last_(births.size() - 1), marks_(engine.heap()),
        older_storages_(engine.heap()), ends_(engine.heap()), ruled_(engine, tape),
        operations_(engine.heap(), tape.size(), tape.tensors().size() + 1) {
    marks_.reserve(tape.tensors().size());
    weights_.step = engine.costs.ticks_of_step();
    weights_.fresh = engine.costs.ticks_of_fresh();
    for (std::vector<std::uint64_t>* const by_birth :
         {&weights_.state, &weights_.tape, &weights_.before, &weights_.before_lean, &weights_.after, &weights_.gone,
          &weights_.lean, &weights_.lean_before, &weights_.lean_after})
      by_birth->assign(births.size(), 0);
  }
  void weigh_state(const std::vector<Run>& runs);
  void weigh_tape(const tape::Tape* before, bool rules_take);
  Weights take() { return std::move(weights_); }

private:
  // Nothing is born before the run; what never had an object of its own was made where it was met.
  static constexpr std::size_t kOlder = SIZE_MAX;
  std::size_t birth(std::uint64_t serial) const {
    if (serial >= births_.back()) return last_;
    const auto behind = std::upper_bound(births_.begin(), births_.end(), serial);
    return behind == births_.begin() ? kOlder : static_cast<std::size_t>(behind - births_.begin()) - 1;
  }
  std::size_t birth_of(const ops::Storage* s) const { return s->birth == 0 ? last_ : birth(s->birth); }

  void note_older(bool rules_take);
  void add_record(const tape::TensorRecord& record);
  void add_operand(const tape::TensorRecord& record, std::uint32_t i, const tape::KeptTensors::Kept& kept, bool again);
  bool may_overwrite(const tape::TensorRecord& record, std::uint32_t i, const Operation& maker, std::uint32_t begin) const;
  void tell_joined(const std::vector<Together>& all);
  void add_calls(std::size_t at);
  void meet(const ops::Storage* s, bool may_spill, bool left) {
    std::uint8_t& marks = marks_[s];
    const std::uint8_t met = left ? kOfTape | kLeft : kOfTape; // as most have been before
    if ((marks & met) != met) meet_anew(s, may_spill, left, marks);
  }
  void meet_anew(const ops::Storage* s, bool may_spill, bool left, std::uint8_t& marks);
  void meet_left(const ops::Storage* s, Operation& o, std::uint8_t& marks);
  void meet_before(const tape::Tape& before);

  Engine& engine_;
  tape::Tape& tape_;
  const std::vector<std::uint64_t>& births_;
  const std::size_t last_;
  Weights weights_;
  Marks marks_;
  Marks older_storages_; // of those of the tape that the tape before it may have, too
  Nodes ends_;
  RuledCalls ruled_;
  std::size_t next_call_ = 0;
  Operations operations_;
  tape::Derived derived_{engine_.heap()};
  value::ChargedMap<std::uint32_t, std::uint64_t> older_{
      value::ChargedAllocator<std::uint64_t>(engine_.heap())}; // serials of what is older than the run, by node
  value::ChargedSet<std::uint64_t> first_read_{value::ChargedAllocator<std::uint64_t>(engine_.heap())};
  Costs costs_{engine_};
  Polls polls_{engine_.meter()};
};

void Weighing::weigh_state(const std::vector<Run>& runs) {
  Walk walk(engine_);
  auto newer = [&](const Object* o) { return o->serial >= births_.front() || o->kind == value::Kind::frame; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, newer);
  walk.drain(
      newer, [&](const Frame* f) { return f->serial >= births_.front(); },
      [&](const Object* o) {
        if (const std::size_t k = birth(o->serial); k != kOlder) weights_.state[k] += bytes_of(o);
        const ops::Tensor* t = tensor_in(o);
        if (t == nullptr) return;
        if (const std::uint32_t node = tape_.tensor_node(o->serial); node != tape::kNone)
          ends_.push_back({node, static_cast<std::uint64_t>(t->bytes())});
        if (!t->storage || !marks_.insert(t->storage.get())) return;
        if (const std::size_t k = birth_of(t->storage.get()); k != kOlder) weights_.state[k] += bytes_of(t->storage.get());
      });
  weights_.together = weights_.state[last_];
  weights_.state[last_] += static_cast<std::uint64_t>(own_bytes(runs));
}

void Weighing::note_older(bool rules_take) {
  tape_.inputs.for_each([&](tape::Place place, const tape::Input& input) {
    if (place.slot == 0 && place.serial < births_.front()) older_.emplace(input.node, place.serial);
  });
  if (rules_take)
    for (const tape::FirstRead& read : tape_.first_reads) first_read_.insert(read.serial);
}

// For the operation on top, of what the tape holds. `may_spill`: it may be in a file while the tape waits. `left`: a lean tape
// would hold it, too.
void Weighing::meet_anew(const ops::Storage* s, bool may_spill, bool left, std::uint8_t& marks) {
  Operation& o = operations_.last();
  if (left) meet_left(s, o, marks);
  if ((marks & kOfTape) != 0) return;
  marks |= kOfTape;
  const std::size_t k = birth_of(s);
  if (k == kOlder) return;
  const std::uint64_t bytes = bytes_of(s);
  weights_.tape[k] += bytes;
  const bool stays_here = !may_spill || s->bytes < ops::Device::kLeastSpilled;
  weights_.stays += stays_here ? bytes : std::uint64_t{ops::kBesideElements};
  if (!stays_here) weights_.padding += static_cast<std::uint64_t>(ops::SpillFile::taken_by(s->bytes) - s->bytes);
  const bool stays = (marks & kOfState) != 0;
  (stays ? weights_.after : weights_.gone)[k] += bytes;
  if (k != last_ || s->birth == 0) older_storages_[s] |= kOfTape;
  if (k != last_) return;
  if (!stays) weights_.together += bytes;
  o.kept_new += bytes;
}

void Weighing::meet_left(const ops::Storage* s, Operation& o, std::uint8_t& marks) {
  if ((marks & kLeft) != 0) return;
  marks |= kLeft;
  const std::size_t k = birth_of(s);
  if (k == kOlder) return;
  const std::uint64_t bytes = bytes_of(s);
  weights_.lean[k] += bytes;
  if ((marks & kOfState) != 0) weights_.lean_after[k] += bytes;
  if (k != last_ || s->birth == 0) older_storages_[s] |= kLeft;
  if (k == last_) o.kept_lean += bytes;
}

// What the tape before it has of what this one has, as it is and if both were lean. What was made since has another birth. What
// both have was mostly used last at the end of that tape, so it is looked for from there on until all of it is found.
void Weighing::meet_before(const tape::Tape& before) {
  std::size_t to_find = older_storages_.size();
  if (to_find == 0) return;
  enum : std::uint8_t { kOfBefore = 8, kLeftOfBefore = 16 };
  const auto meet = [&](const ops::Storage* s, bool left) {
    std::uint8_t* const marks = older_storages_.find(s);
    if (marks == nullptr) return;
    const std::size_t k = birth_of(s);
    const std::uint64_t bytes = bytes_of(s);
    if ((*marks & kOfBefore) == 0 && (*marks & kOfTape) != 0) weights_.before[k] += bytes;
    *marks |= kOfBefore;
    if (!left || (*marks & kLeftOfBefore) != 0) return;
    *marks |= kLeftOfBefore;
    if ((*marks & kOfTape) != 0) weights_.before_lean[k] += bytes;
    if ((*marks & kLeft) != 0) weights_.lean_before[k] += bytes;
    --to_find;
  };
  const RuledCalls ruled(engine_, before);
  for (const RuledCalls::Call& call : ruled.all()) ruled.each_storage(call, [&](const ops::Storage* s) { meet(s, true); });
  tape::Derived derived(engine_.heap());
  const auto& records = before.tensors();
  for (const auto& record : records) {
    polls_.one();
    derived.add(*record, tape::Derived::As::lean, record->cheap);
  }
  for (auto record = records.rbegin(); record != records.rend() && to_find > 0; ++record) {
    polls_.one();
    const Gone gone(**record, derived);
    tape::KeptTensors::Kept kept;
    for (std::uint32_t i = 0, at = 0; (*record)->inputs.next(at, kept); ++i)
      if (kept.storage != nullptr) meet(kept.storage, !gone.input(i));
    for (std::uint32_t i = 0, at = 0; (*record)->outputs.next(at, kept); ++i)
      if (kept.storage != nullptr) meet(kept.storage, !gone.output(i));
  }
}

// Whether that operand, which `maker` made and whose words begin there, may become the memory of the first result where nothing
// else reads it.
bool Weighing::may_overwrite(const tape::TensorRecord& record, std::uint32_t i, const Operation& maker,
                             std::uint32_t begin) const {
  if (record.kind != tape::TensorRecord::Kind::apply || i >= 31 || (record.op->may_overwrite >> i & 1) == 0) return false;
  const std::uint32_t node = record.operands[i];
  if (!maker.gives_memory || maker.node != node || record.outputs.size() == 0) return false;
  return std::ranges::count(record.operands, node) == 1 && record.inputs.lies_like(begin, record.outputs, 0);
}

// Of the operation on top, a tensor that is on the tape. `again`: a lean tape can compute the results of this operation again.
void Weighing::add_operand(const tape::TensorRecord& record, std::uint32_t i, const tape::KeptTensors::Kept& kept, bool again) {
  const std::uint32_t node = record.operands[i];
  const bool stored = kept.storage != nullptr;
  if (!kept.weak) {
    operations_.add_operand({node, false, kept.bytes});
    if (const Operation* const maker = operations_.maker(node)) {
      if (operations_.last().overwritten == tape::kNone && may_overwrite(record, i, *maker, kept.begin))
        operations_.last().overwritten = node;
      operations_.use(node, stored);
    } else if (const auto found = older_.find(node); found != older_.end()) {
      weights_.read.push_back({found->second, kept.bytes});
      if (first_read_.contains(found->second)) operations_.add_taken(node);
      older_.erase(found);
    }
  } else {
    operations_.add_operand({tape::kNone, false, sizeof(double)});
  }
  if (!derived_.has(node)) return;
  if (again) operations_.add_wanted_again(node);
  if (stored && record.kind == tape::TensorRecord::Kind::apply) operations_.add_wanted(node);
}

void Weighing::add_record(const tape::TensorRecord& record) {
  Operation& o = operations_.add(record.node, record.end());
  if (next_call_ < ruled_.all().size()) add_calls(operations_.size() - 1);
  const Costs::Cost cost = costs_.of(record);
  o.cost = schedule::bounded(cost.ticks);
  weights_.cost = schedule::bounded(weights_.cost + o.cost);
  derived_.add(record, tape::Derived::As::lean, record.cheap);
  const bool again = derived_.has(record.node);
  const Gone gone(record, derived_);
  tape::KeptTensors::Kept kept;
  std::uint64_t elements = 0;
  bool constant = false; // one of the operands
  tell_of_memory(record, o);
  if (const std::uint32_t seen = o.is_view ? record.operands.front() : tape::kNone; seen != tape::kNone)
    if (const Operation* const maker = operations_.maker(seen)) o.view_of = maker->is_view ? maker->view_of : seen;
  for (std::uint32_t i = 0, at = 0; record.inputs.next(at, kept); ++i) {
    elements += kept.bytes;
    if (kept.storage != nullptr) meet(kept.storage, true, !gone.input(i));
    if (i >= record.operands.size()) continue;
    if (record.operands[i] != tape::kNone)
      add_operand(record, i, kept, again);
    else
      constant = constant || !kept.weak;
  }
  if (cost.of_product && constant) weights_.unswept = schedule::bounded(weights_.unswept + o.cost);
  for (std::uint32_t i = 0, at = 0; record.outputs.next(at, kept); ++i) {
    elements += kept.bytes;
    if (!o.is_view) operations_.add_result(record.node + i, kept.bytes);
    if (kept.storage == nullptr) continue;
    o.result_kept = true;
    meet(kept.storage, true, !gone.output(i));
  }
  if (o.view_of != tape::kNone && o.result_kept) operations_.use(o.view_of, true);
  weights_.largest = std::max(weights_.largest, elements);
  if (!again) return;
  if ((record.op->keep & ops::kKeepOutput) != 0) operations_.add_wanted(record.node);
  if (record.op->view == nullptr) // a view has the elements of what it is of
    o.again_bytes = o.result_bytes + record.results * std::uint64_t{ops::kBesideElements};
}

// Calls of procedures with rules in front of record number `at`, as a part of the operation on top.
void Weighing::add_calls(std::size_t at) {
  for (; next_call_ < ruled_.all().size() && ruled_.all()[next_call_].at <= at; ++next_call_) {
    const RuledCalls::Call& call = ruled_.all()[next_call_];
    polls_.one();
    ruled_.each_argument(call, [&](const value::TensorObject& t) {
      if (!ops::is_floating(t.tensor.dtype)) return;
      const auto bytes = static_cast<std::uint64_t>(t.tensor.bytes());
      const std::uint32_t node = tape_.tensor_node(t.serial);
      if (node != tape::kNone) {
        operations_.add_operand({node, true, bytes});
        operations_.use(node, true);
        older_.erase(node);
      }
      if (t.serial < births_.front()) weights_.read.push_back({t.serial, bytes});
    });
    ruled_.each_storage(call, [&](const ops::Storage* s) { meet(s, false, false); });
    if (call.output == nullptr) continue;
    weights_.cost = schedule::bounded(weights_.cost + call.output->cost);
    weights_.largest = std::max(weights_.largest, call.output->largest);
    operations_.hold_beside(call.output->largest);
  }
}

void Weighing::tell_joined(const std::vector<Together>& all) {
  if (all.empty()) return;
  value::ChargedMap<std::uint32_t, std::uint64_t> serials{
      value::ChargedAllocator<std::uint64_t>(engine_.heap())}; // of what the run has made before, by node
  tape_.inputs.for_each([&](tape::Place place, const tape::Input& input) {
    if (place.slot == 0 && place.serial >= births_.front()) serials.emplace(input.node, place.serial);
  });
  for (const Together& together : all) {
    schedule::JoinedCotangent joined{together.bytes, {}};
    for (const Node& part : together.nodes)
      if (const auto found = serials.find(part.node); found != serials.end())
        joined.parts.emplace_back(birth(found->second), part.bytes);
    if (!joined.parts.empty()) weights_.joined.push_back(std::move(joined));
  }
}

void Weighing::weigh_tape(const tape::Tape* before, bool rules_take) {
  note_older(rules_take);
  for (const auto& record : tape_.tensors()) {
    polls_.one();
    add_record(*record);
  }
  if (next_call_ < ruled_.all().size()) { // behind the last record
    operations_.add(tape_.size(), tape_.size());
    add_calls(operations_.size() - 1);
  }
  for (const RuledCalls::Call& call : ruled_.all()) // a lean tape keeps all of them
    ruled_.each_storage(call, [&](const ops::Storage* s) { meet_left(s, operations_[call.at], marks_[s]); });
  if (before != nullptr) meet_before(*before);
  for (std::size_t i = 0; i < operations_.size(); ++i)
    if (operations_[i].again) weights_.again = schedule::bounded(weights_.again + operations_[i].cost);
  tell_joined(operations_.follow(ends_, weights_));
  const std::uint64_t remembered =
      (tape_.tensors().size() + ruled_.all().size()) * kOfOperation + tape_.tensors().size() * kOfMet;
  weights_.taping = std::max({weights_.taping, remembered, remembered / 2 + tape_.size() * kOfNode});
  // A tensor may be an argument of several calls.
  std::ranges::sort(weights_.read, {}, &schedule::OldTensor::serial);
  const auto same = [](const schedule::OldTensor& a, const schedule::OldTensor& b) { return a.serial == b.serial; };
  weights_.read.erase(std::unique(weights_.read.begin(), weights_.read.end(), same), weights_.read.end());
  weights_.own = tape_.own_bytes();
  weights_.stays += weights_.own - tape_.saved_by_shortening();
  weights_.nested = std::ranges::any_of(tape_.composites, [](const tape::Composite& c) { return !c.is_ruled(); });
}

} // namespace

std::int64_t logical_bytes(Engine& engine, const std::vector<Run>& runs, std::uint64_t since) {
  std::int64_t bytes = own_bytes(runs);
  Walk walk(engine);
  Marks marks(engine.heap());
  auto newer = [&](const Object* o) { return o->serial >= since || o->kind == value::Kind::frame; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, newer);
  walk.drain(
      newer, [&](const Frame* f) { return f->serial >= since; },
      [&](const Object* o) {
        bytes += static_cast<std::int64_t>(bytes_of(o));
        const ops::Tensor* t = tensor_in(o);
        if (t == nullptr || !t->storage || !marks.insert(t->storage.get())) return;
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
  Marks marks(engine.heap());
  auto all = [](const Object*) { return true; };
  for (const Run& r : runs)
    if (r.top != nullptr) walk.push(r.top, all);
  for (const Value v : values)
    if (v.is_object()) walk.push(value::object_of(v), all);
  walk.drain(all, all, [&](const Object* o) {
    bytes += bytes_of(o);
    if (const ops::Tensor* t = tensor_in(o); t != nullptr && t->storage && marks.insert(t->storage.get()))
      bytes += bytes_of(t->storage.get());
  });
  return bytes;
}

Weights weigh(Engine& engine, const std::vector<Run>& runs, tape::Tape& tape, const tape::Tape* before,
              const std::vector<std::uint64_t>& births, bool rules_take) {
  Weighing weighing(engine, tape, births);
  weighing.weigh_state(runs);
  weighing.weigh_tape(before, rules_take);
  return weighing.take();
}

} // namespace cairn::runs
