// Gradients that come again, as the steps of a training do: what was learnt of one is used for the next of its kind, and what
// turns out to be of another kind begins anew.
#include "ops/mixing.h"
#include "ops/operators/lossy.h"
#include "vm/runs/children.h"
#include "vm/runs/recording.h"
#include "vm/runs/states.h"
#include "vm/value/charged.h"

#include <algorithm>

namespace cairn::runs {

using machine::RunKind;
using value::Object;

namespace {

constexpr int kMostLooked = 4096;   // values of the operands that a kind is told by
constexpr std::int64_t kShare = 32; // of the budget, for all that is remembered

class Digest {
public:
  void add(std::uint64_t word) { state_ = ops::next_mixed(state_ ^ word); }
  std::uint64_t value() const { return std::max<std::uint64_t>(state_ >> 16, 1); } // as large as a counter may be

private:
  std::uint64_t state_ = 0;
};

// Procedures by their code, tensors by type and shape, containers by their length; numbers and texts are all alike.
void add_shape(Engine& engine, Digest& digest, Value value) {
  value::ChargedStack<Value> pending(engine.heap());
  pending.push_back(value);
  for (int left = kMostLooked; !pending.empty() && left > 0; --left) {
    const Value v = pending.back();
    pending.pop_back();
    if (!v.is_object()) {
      digest.add(0);
      continue;
    }
    Object* const o = value::object_of(v);
    digest.add(static_cast<std::uint64_t>(o->kind));
    if (v.is_procedure()) digest.add(v.procedure()->code->index);
    if (value::is_tensor(v)) {
      const ops::Tensor& t = value::tensor_of(v);
      digest.add(static_cast<std::uint64_t>(t.dtype));
      for (int i = 0; i < t.rank(); ++i) digest.add(static_cast<std::uint64_t>(t.shape[i]));
      if (const double mark = ops::mark_of(t); mark != 0) digest.add(mark > 0 ? 1 : 2); // tapes keep other bytes then
    }
    if (!is_container(v)) continue;
    std::uint32_t children = 0;
    value::for_each_child(o, [&](Value child, std::uint32_t) {
      if (static_cast<int>(children++) < left) pending.push_back(child);
    });
    digest.add(children);
  }
}

} // namespace

std::uint64_t kind_of_call(Engine& engine, const CheckpointState& s, const Opening& of) {
  const bool alone = std::ranges::all_of(engine.runs, [](const Run& r) {
    return r.kind == RunKind::base || r.kind == RunKind::scheduled || r.kind == RunKind::guarded || r.kind == RunKind::streamed;
  });
  if (!alone || !can_begin_again(engine, s)) return 0;
  Digest digest;
  for (const char c : schedule::to_string(engine.schedules[s.spec])) digest.add(static_cast<unsigned char>(c));
  for (const char c : to_string(engine.lossy_policies[engine.current().lossy])) digest.add(static_cast<unsigned char>(c));
  digest.add(of.update.is_pair() ? 1 : 0);
  digest.add(of.in_place ? 1 : 0);
  add_shape(engine, digest, of.f);
  add_shape(engine, digest, of.x);
  return digest.value();
}

void choose_schedule(Engine& engine, CheckpointState& s, const Opening& of) {
  const bool alone = is_alone(engine), survey = alone && is_surveying(engine);
  s.call = survey ? 0 : kind_of_call(engine, s, of);
  if (s.call != 0) s.schedule = engine.repeats.next(s.call);
  s.known = s.schedule != nullptr;
  if (s.known) return;
  const schedule::Spec planned{schedule::Spec::Kind::budget};
  schedule::Resources resources = engine.resources(alone);
  resources.survey = survey;
  s.schedule = schedule::make(survey ? planned : engine.schedules[s.spec], resources);
}

void remember(Engine& engine, const CheckpointState& s) {
  if (s.call == 0) return;
  try {
    engine.repeats.learn(s.call, *s.schedule, s.total,
                         static_cast<std::size_t>(engine.state_budget / kShare) / sizeof(std::uint64_t));
    engine.repeats_charged.set(static_cast<std::int64_t>(engine.repeats.words() * sizeof(std::uint64_t)));
  } catch (const value::BudgetExceeded&) { // nothing is worth less
    engine.repeats = {};
    engine.repeats_charged.set(0);
  }
}

} // namespace cairn::runs
