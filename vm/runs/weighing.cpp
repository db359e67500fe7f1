// What a tape holds, with the state at its end.
#include "vm/runs/weighing.h"

#include "ops/operators/lossy.h"
#include "ops/operators/registry.h"
#include "ops/operators/rule_cost.h"
#include "ops/operators/runtime.h"
#include "ops/spill_file.h"
#include "vm/machine/tensor_operands.h"
#include "vm/runs/composite_calls.h"
#include "vm/runs/cotangents.h"
#include "vm/runs/marks.h"
#include "vm/runs/met.h"
#include "vm/runs/operation_costs.h"
#include "vm/runs/operations.h"
#include "vm/runs/states.h"
#include "vm/runs/walk.h"
#include "vm/schedule/profile.h"
#include "vm/tape/derived.h"
#include "vm/value/charged.h"

#include <algorithm>

namespace cairn::runs {

using schedule::Weights;
using value::Frame;
using value::Object;

namespace {

// What is remembered of an operation while a tape is weighed, in bytes, where nodes are few: half of it is of tables of nodes and
// of what these have been before they grew. Where most nodes are numbers, tables of nodes are what counts.
constexpr std::uint64_t kOfOperation = 440, kOfMet = 256, kOfNode = 16;

// What the reverse pass of a gradient holds, as a part of what that held: its forward pass has a tangent beside each value and
// keeps both operands of each of their products. Networks of products and elementwise operators were measured at 2.9 to 3.
constexpr std::uint64_t kOfDual = 3;

static_assert(schedule::kTapeForms == tape::kLeanLevels + 1);

// Where a storage was met.
enum : std::uint8_t {
  kOfState = 1, // the state at the end of the tape
  kForms = 2,   // in how many forms the tape has it, of which the leanest come last; a number of three bits
  kBefore = 16, // and in how many the tape before it does
  kOfForms = 7,
};

// Of a record that has been added to `derived`: in how many forms a tape has elements of its inputs or outputs, of which the
// leanest come last.
class InForms {
public:
  InForms(const tape::TensorRecord& record, const tape::Derived& derived)
      : record_(record), derived_(derived), may_go_(record.kind == tape::TensorRecord::Kind::apply) {}
  std::uint8_t input(std::uint32_t i) const { return forms(record_.operands[i]); }
  std::uint8_t output(std::uint32_t i) const { return forms(record_.node + i); }

private:
  std::uint8_t forms(std::uint32_t node) const {
    const std::uint8_t from = may_go_ ? derived_.level_of(node) : 0;
    return from == 0 ? std::uint8_t{schedule::kTapeForms} : from;
  }
  const tape::TensorRecord& record_;
  const tape::Derived& derived_;
  bool may_go_;
};

// What weighing one tape is about.
class Weighing {
public:
  Weighing(Engine& engine, tape::Tape& tape, const std::vector<std::uint64_t>& births, const WeighedElements& before)
      : engine_(engine), tape_(tape), births_(births), before_(before), last_(births.size() - 1), marks_(engine.heap()),
        staying_(engine.heap()), ends_(engine.heap()), end_nodes_(engine.heap()), several_(engine.heap()),
        several_read_(engine.heap()), inputs_read_{value::ChargedAllocator<std::uint32_t>(engine.heap())}, calls_(engine, tape),
        operations_(engine.heap(), tape.size(), tape.tensors().size() + 1) {
    marks_.reserve(tape.tensors().size());
    weights_.step = engine.costs.ticks_of_step();
    weights_.fresh = engine.costs.ticks_of_fresh();
    weights_.state.assign(births.size(), 0);
    weights_.gone = weights_.state;
    for (schedule::TapeForm& form : weights_.forms) {
      form.tape = form.after = weights_.state;
      form.before.fill(weights_.state);
    }
  }
  void weigh_state(const std::vector<Run>& runs);
  void weigh_tape(bool rules_take);
  void take_elements(WeighedElements& elements);
  void end_at(Value v);
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
  void note_results();
  std::uint8_t given(const tape::TensorRecord& record) const;
  bool is_alive_at_end(std::uint32_t node) const { return std::ranges::binary_search(end_nodes_, node); }
  void add_record(const tape::TensorRecord& record);
  void add_operand(const tape::TensorRecord& record, std::uint32_t i, const tape::KeptTensors::Kept& kept,
                   std::uint8_t again_from);
  bool may_overwrite(const tape::TensorRecord& record, std::uint32_t i, const Operation& maker, std::uint32_t begin) const;
  void tell_joined(const std::vector<Together>& all);
  void add_encoding(const tape::TensorRecord& record);
  void add_calls(std::size_t at);
  // For the operation on top, of what the tape holds, and so many bytes, in so many forms, of which the leanest come last.
  // `may_spill`: it may be in a file while the tape waits.
  void meet(const ops::Storage* s, bool may_spill, std::uint8_t forms) {
    std::uint8_t& marks = marks_[s];
    if ((marks / kForms & kOfForms) < forms) meet_anew(s, may_spill, forms, marks); // most have been before
  }
  void meet_anew(const ops::Storage* s, bool may_spill, std::uint8_t forms, std::uint8_t& marks);
  std::uint8_t forms_before(const ops::Storage* s) const;

  Engine& engine_;
  tape::Tape& tape_;
  const std::vector<std::uint64_t>& births_;
  const WeighedElements& before_;
  const std::size_t last_;
  Weights weights_;
  Marks marks_;
  value::ChargedVector<const ops::Storage*> staying_; // of those that the tape and the state at its end have
  Nodes ends_;
  value::ChargedVector<std::uint32_t> end_nodes_;   // the same nodes, ascending
  value::ChargedVector<std::uint32_t> several_;     // results of operations that have several, ascending,
  value::ChargedVector<std::uint8_t> several_read_; // and whether anything reads them
  value::ChargedSet<std::uint32_t> inputs_read_;    // of the tape
  CompositeCalls calls_;
  std::size_t next_call_ = 0;
  Operations operations_;
  tape::Derived derived_{engine_.heap()};
  value::ChargedMap<std::uint32_t, std::uint64_t> older_{
      value::ChargedAllocator<std::uint64_t>(engine_.heap())}; // serials of what is older than the run, by node
  value::ChargedSet<std::uint64_t> first_read_{value::ChargedAllocator<std::uint64_t>(engine_.heap())};
  OperationCosts costs_{engine_, tape_};
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
        if (!t->storage || is_in_file(o) || !marks_.insert(t->storage.get())) return;
        if (const std::size_t k = birth_of(t->storage.get()); k != kOlder) weights_.state[k] += bytes_of(t->storage.get());
      });
  weights_.forms[0].together = weights_.state[last_];
  weights_.state[last_] += static_cast<std::uint64_t>(own_bytes(runs));
}

// The tape ends with that value, and no state.
void Weighing::end_at(Value v) {
  contains(engine_.heap(), v, [&](Value leaf) {
    const std::uint32_t node = value::is_tensor(leaf) ? tape_.tensor_node(leaf.other()->serial) : tape::kNone;
    if (node != tape::kNone) ends_.push_back({node, static_cast<std::uint64_t>(value::tensor_of(leaf).bytes())});
    return false;
  });
}

void Weighing::note_older(bool rules_take) {
  tape_.inputs.for_each([&](tape::Place place, const tape::Input& input) {
    if (place.slot == 0 && place.serial < births_.front()) older_.emplace(input.node, place.serial);
  });
  if (rules_take)
    for (const tape::FirstRead& read : tape_.first_reads) first_read_.insert(read.serial);
}

// In how many forms the tape before this one has that.
std::uint8_t Weighing::forms_before(const ops::Storage* s) const {
  const auto same = std::ranges::lower_bound(before_, s->birth, {}, &Weighed::birth);
  return s->birth != 0 && same != before_.end() && same->birth == s->birth ? static_cast<std::uint8_t>(same->until + 1) : 0;
}

// `marks`: of that one. It was met in fewer forms, or not at all.
void Weighing::meet_anew(const ops::Storage* s, bool may_spill, std::uint8_t forms, std::uint8_t& marks) {
  const auto met = static_cast<std::uint8_t>(marks / kForms & kOfForms);
  const std::size_t k = birth_of(s);
  const std::uint64_t bytes = bytes_of(s);
  const bool stays = (marks & kOfState) != 0;
  if (met == 0 && k != kOlder) {
    const bool stays_here = !may_spill || s->bytes < ops::Device::kLeastSpilled;
    weights_.stays += stays_here ? bytes : std::uint64_t{ops::kBesideElements};
    if (!stays_here) weights_.padding += static_cast<std::uint64_t>(ops::SpillFile::taken_by(s->bytes) - s->bytes);
    if (!stays) weights_.gone[k] += bytes;
    if (k == last_ && !stays) weights_.forms[0].together += bytes;
    if (stays && s->birth != 0) staying_.push_back(s);
    marks = static_cast<std::uint8_t>(marks + (k != last_ ? forms_before(s) : 0) * kBefore);
  }
  marks = static_cast<std::uint8_t>(marks + (forms - met) * kForms);
  if (k == kOlder) return;
  const std::size_t before = marks / kBefore & kOfForms;
  for (std::size_t f = met; f < forms; ++f) {
    schedule::TapeForm& form = weights_.forms[f];
    form.tape[k] += bytes;
    if (stays) form.after[k] += bytes;
    for (std::size_t b = 0; b < before; ++b) form.before[b][k] += bytes;
  }
  if (k == last_) operations_.keep(met, forms, bytes);
}

// What the next tape can have of what this one has is in the state between them.
void Weighing::take_elements(WeighedElements& elements) {
  elements.reserve(staying_.size());
  for (const ops::Storage* s : staying_) elements.push_back({s->birth, (*marks_.find(s) / kForms & kOfForms) - 1U});
  std::ranges::sort(elements, {}, &Weighed::birth);
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

// Of the operation on top, a tensor that is on the tape. `again_from`: the level from which on a lean tape can compute the
// results of this operation again, if it is not 0.
void Weighing::add_operand(const tape::TensorRecord& record, std::uint32_t i, const tape::KeptTensors::Kept& kept,
                           std::uint8_t again_from) {
  const std::uint32_t node = record.operands[i];
  const bool stored = kept.storage != nullptr;
  if (!kept.weak) {
    operations_.add_operand({node, false, kept.bytes});
    const Operation* const maker = operations_.maker(node);
    const auto found = maker == nullptr ? older_.find(node) : older_.end();
    const bool is_read = maker != nullptr ? operations_.is_used(*maker) : !inputs_read_.insert(node).second;
    const bool is_first = !is_read && !is_alive_at_end(node); // what is alive may have a cotangent from behind the tape
    if (!is_first && !(i == 0 && record.op != nullptr && record.op->vjp_memory == ops::VjpMemory::onto))
      weights_.sweep = schedule::bounded(weights_.sweep + costs_.of_sum(kept.bytes));
    if (maker != nullptr) {
      if (operations_.last().overwritten == tape::kNone && may_overwrite(record, i, *maker, kept.begin))
        operations_.last().overwritten = node;
      operations_.use(node, stored);
    } else if (found != older_.end()) {
      weights_.read.push_back({found->second, kept.bytes, costs_.of_sum(kept.bytes)});
      if (first_read_.contains(found->second)) operations_.add_taken(node);
      older_.erase(found);
    }
  } else {
    operations_.add_operand({tape::kNone, false, sizeof(double)});
  }
  const std::uint8_t from = derived_.level_of(node);
  if (from == 0) return;
  if (again_from != 0) operations_.add_wanted_again(node, std::max(from, again_from));
  const bool applied = record.kind == tape::TensorRecord::Kind::apply;
  if (applied && (stored || record.asks_for(i))) operations_.add_wanted(node, from);
}

void Weighing::add_record(const tape::TensorRecord& record) {
  Operation& o = operations_.add(record.node, record.end());
  if (next_call_ < calls_.all().size()) add_calls(operations_.size() - 1);
  tell_of_memory(record, o);
  const OperationCosts::Cost cost = costs_.of(record, given(record));
  o.cost = o.is_view ? 0 : schedule::bounded(cost.ticks); // nothing is computed
  weights_.sweep = schedule::bounded(weights_.sweep + schedule::bounded(cost.swept));
  weights_.cost = schedule::bounded(weights_.cost + o.cost);
  weights_.encoding = schedule::bounded(weights_.encoding + schedule::bounded(cost.encoding));
  derived_.add(record, tape::Derived::As::lean);
  const std::uint8_t again_from = derived_.level_of(record.node);
  const InForms kept_in(record, derived_);
  tape::KeptTensors::Kept kept;
  std::uint64_t elements = 0;
  if (const std::uint32_t seen = o.is_view ? record.operands.front() : tape::kNone; seen != tape::kNone)
    if (const Operation* const maker = operations_.maker(seen)) o.view_of = maker->is_view ? maker->view_of : seen;
  for (std::uint32_t i = 0, at = 0; record.inputs.next(at, kept); ++i) {
    elements += kept.bytes;
    if (kept.storage != nullptr) meet(kept.storage, true, kept_in.input(i));
    if (i >= record.operands.size()) continue;
    if (record.operands[i] != tape::kNone) add_operand(record, i, kept, again_from);
  }
  for (std::uint32_t i = 0, at = 0; record.outputs.next(at, kept); ++i) {
    elements += kept.bytes;
    if (!o.is_view) operations_.add_result(record.node + i, kept.bytes);
    if (kept.storage == nullptr) continue;
    operations_.keep_result(record.node + i);
    meet(kept.storage, true, kept_in.output(i));
  }
  record.smaller.each_storage([&](const ops::Storage& s) { meet(&s, true, schedule::kTapeForms); });
  if (record.is_lossy()) add_encoding(record);
  if (o.view_of != tape::kNone && operations_.is_kept(o.node)) operations_.use(o.view_of, true);
  weights_.largest = std::max(weights_.largest, elements);
  if (again_from == 0) return;
  if ((record.op->keep & ops::kKeepOutput) != 0 && record.smaller.size() == 0) operations_.add_wanted(record.node, again_from);
  if (!o.is_view) // a view has the elements of what it is of
    o.again_bytes = o.result_bytes + record.results * std::uint64_t{ops::kBesideElements};
}

// What the operation on top has encoded is made in room for any encoding, of a tensor that is made for that where it is not the
// operand, and the sweep makes the whole tensor again.
void Weighing::add_encoding(const tape::TensorRecord& record) {
  const ops::Tensor encoded = record.inputs.all()[0];
  const auto bytes = static_cast<std::uint64_t>(encoded.bytes());
  const bool normalized = record.op->normalized != nullptr;
  operations_.hold_beside({.done = 0,
                           .recorded = ops::room_to_encode(encoded) + (normalized ? bytes : 0),
                           .swept = record.asks_for_encoding() ? bytes : 0});
}

// Calls of procedures with rules in front of record number `at`, as a part of the operation on top.
void Weighing::add_calls(std::size_t at) {
  for (; next_call_ < calls_.all().size() && calls_.all()[next_call_].at <= at; ++next_call_) {
    const CompositeCalls::Call& call = calls_.all()[next_call_];
    polls_.one();
    calls_.each_argument(call, [&](const value::TensorObject& t) {
      if (!ops::is_floating(t.tensor.dtype)) return;
      const auto bytes = static_cast<std::uint64_t>(t.tensor.bytes());
      const std::uint32_t node = tape_.tensor_node(t.serial);
      if (node != tape::kNone) {
        operations_.add_operand({node, true, bytes});
        operations_.use(node, true);
        older_.erase(node);
      }
      if (t.serial < births_.front() && (call.composite->is_ruled() || tape_.is_old(t.serial)))
        weights_.read.push_back({t.serial, bytes});
    });
    calls_.each_storage(call, [&](const value::TensorObject& t, const ops::Storage* s) { // kept by lean tapes, too
      if (!is_in_file(&t)) meet(s, false, schedule::kTapeForms);
    });
    if (call.output == nullptr) continue;
    weights_.cost = schedule::bounded(weights_.cost + call.output->cost);
    // A run and a sweep of its own; where it is differentiated, both again, with tangents.
    weights_.sweep = schedule::bounded(weights_.sweep + (call.composite->is_ruled() ? 2 : 3) * call.output->cost);
    weights_.largest = std::max(weights_.largest, call.output->largest);
    operations_.hold_beside({.done = call.output->largest, .recorded = 0, .swept = call.output->sweeping});
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

// Of an operation with several results mostly one alone has a cotangent, and its rule does less then.
void Weighing::note_results() {
  for (const Node& end : ends_) end_nodes_.push_back(end.node);
  std::ranges::sort(end_nodes_);
  for (const auto& record : tape_.tensors())
    for (std::uint32_t i = 0; record->results > 1 && i < record->results; ++i) several_.push_back(record->node + i);
  if (several_.empty()) return;
  several_read_.assign(several_.size(), calls_.all().empty() ? 0 : 1);
  const auto read = [&](std::uint32_t node) {
    const auto at = std::ranges::lower_bound(several_, node);
    if (at != several_.end() && *at == node) several_read_[static_cast<std::size_t>(at - several_.begin())] = 1;
  };
  for (const std::uint32_t node : end_nodes_) read(node);
  for (const auto& record : tape_.tensors())
    for (const std::uint32_t node : record->operands) {
      polls_.one();
      read(node);
    }
}

// As a bit for each of its first results; the first one alone where none is read.
std::uint8_t Weighing::given(const tape::TensorRecord& record) const {
  if (record.results <= 1) return 1;
  const auto first = static_cast<std::size_t>(std::ranges::lower_bound(several_, record.node) - several_.begin());
  unsigned bits = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(record.results, OperationCosts::kGiven); ++i)
    bits |= unsigned{several_read_[first + i]} << i;
  return static_cast<std::uint8_t>(bits == 0 ? 1 : bits);
}

void Weighing::weigh_tape(bool rules_take) {
  note_older(rules_take);
  note_results();
  for (const auto& record : tape_.tensors()) {
    polls_.one();
    add_record(*record);
  }
  if (next_call_ < calls_.all().size()) { // behind the last record
    operations_.add(tape_.size(), tape_.size());
    add_calls(operations_.size() - 1);
  }
  for (std::size_t i = 0; operations_.again() && i < operations_.size(); ++i) {
    if (tape_.is_lean() && operations_[i].again_from != 0) // a part of the sweep in every form
      weights_.sweep = schedule::bounded(weights_.sweep + operations_[i].cost);
    for (std::size_t f = operations_[i].again_from; !tape_.is_lean() && f != 0 && f < schedule::kTapeForms; ++f)
      weights_.forms[f].again = schedule::bounded(weights_.forms[f].again + operations_[i].cost);
  }
  tell_joined(operations_.follow(ends_, tape_.is_lean(), weights_));
  const std::uint64_t remembered =
      (tape_.tensors().size() + calls_.all().size()) * kOfOperation + tape_.tensors().size() * kOfMet;
  weights_.taping = std::max({weights_.taping, remembered, remembered / 2 + tape_.size() * kOfNode});
  // A tensor may be an argument of several calls.
  std::ranges::sort(weights_.read, {}, &schedule::OldTensor::serial);
  const auto same = [](const schedule::OldTensor& a, const schedule::OldTensor& b) { return a.serial == b.serial; };
  weights_.read.erase(std::unique(weights_.read.begin(), weights_.read.end(), same), weights_.read.end());
  weights_.sweep = schedule::bounded(weights_.sweep + ticks_of_records(engine_.costs, tape_));
  weights_.own = tape_.own_bytes();
  weights_.stays += weights_.own - tape_.saved_by_shortening();
  weights_.nested = calls_.some_unknown();
}

} // namespace

Weights weigh(Engine& engine, const std::vector<Run>& runs, tape::Tape& tape, const WeighedElements& before,
              const std::vector<std::uint64_t>& births, bool rules_take, WeighedElements& elements) {
  Weighing weighing(engine, tape, births, before);
  weighing.weigh_state(runs);
  weighing.weigh_tape(rules_take);
  weighing.take_elements(elements);
  return weighing.take();
}

void weigh_inside(Engine& engine, ReverseState& s) {
  if (s.tape() == nullptr || s.work->tensors().empty() || s.sweeping) return;
  const auto weighs = [](const Run& r) {
    if (r.kind != machine::RunKind::interval || r.state == nullptr) return false;
    const auto* const checkpoint = as_checkpoint(*as_sweep(value::of_other(r.state)));
    return checkpoint != nullptr && checkpoint->outermost && checkpoint->work != nullptr && checkpoint->schedule->weighs_tapes();
  };
  if (std::ranges::none_of(engine.runs, weighs)) return;
  const std::vector<std::uint64_t> births = {s.work->start()};
  Weighing weighing(engine, *s.work, births, WeighedElements({engine.heap(), engine.heap().tape}));
  weighing.end_at(s.value);
  weighing.weigh_tape(false);
  const Weights weights = weighing.take();
  if (weights.nested) return;
  const schedule::TapeForm& form = weights.forms.front();
  const std::uint64_t held = weights.own + form.tape.front();
  s.largest = schedule::bounded(held + std::max(weights.taping, form.sweeping));
  s.largest_swept = schedule::bounded(kOfDual * s.largest);
  s.cost = schedule::bounded(weights.cost + weights.encoding + weights.sweep);
}

} // namespace cairn::runs
