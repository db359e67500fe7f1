// The state of checkpoint-*j: snapshots and tapes that it owns, how they are copied, counted and let go of, and what becomes of
// it when the run inside ends or has done its steps.
#include "vm/runs/intervals.h"
#include "vm/runs/weighing.h"

#include <algorithm>
#include <optional>

namespace cairn::runs {

// A tape ends behind an operation that is not cheap, so that what a lean tape lets go of and what it is computed from are on one
// tape; and at first only where little is alive, since what the next one reads it would have to keep. Gradients inside of others
// are not planned, so their tapes gain nothing by that.
bool CheckpointState::may_end(Engine& engine, std::size_t run) {
  constexpr std::uint64_t kPart = 6; // of the most that was alive on the tape, beside what was at its start
  constexpr std::uint64_t kStretchForLittle = 2, kStretchForCheap = 8;
  const bool cheap = !work->tensors().empty() && work->tensors().back()->level == 1;
  work->made_much = false;
  if (!outermost) return work->is_heavy() && (!cheap || work->keeps_more_than(kStretchForCheap));
  const std::optional<std::uint64_t> alive =
      alive_bytes(engine, {engine.runs.begin() + static_cast<std::ptrdiff_t>(run), engine.runs.end()}, begin);
  work->most_alive = std::max(work->most_alive, alive.value_or(0));
  if (!work->is_heavy()) return false;
  if (work->keeps_more_than(schedule::kOvershoot)) return true;
  const bool little = !alive || *alive <= work->alive_at_start + (work->most_alive - work->alive_at_start) / kPart;
  return work->keeps_more_than(cheap ? kStretchForCheap : kStretchForLittle) ? little || !cheap : little && !cheap;
}

Snapshot copy_of(Heap& heap, const Snapshot& s) {
  Snapshot copy = s;
  copy.runs = machine::OwnedRuns::of(heap, s.runs).take();
  copy.counted = false;
  return copy;
}

void count_snapshot(Engine& engine, Snapshot& snapshot) {
  Heap& heap = engine.heap();
  heap.charge(heap.capsules, own_bytes(snapshot.runs));
  snapshot.counted = true;
  heap.capsule_count += 1;
  heap.capsule_count_peak = std::max(heap.capsule_count_peak, heap.capsule_count);
  engine.snapshot_bytes += snapshot.bytes;
  engine.snapshot_bytes_peak = std::max(engine.snapshot_bytes_peak, engine.snapshot_bytes);
}

machine::OwnedState CheckpointState::clone(Engine& engine) const {
  Heap& heap = engine.heap();
  auto s = heap.own<CheckpointState>(engine);
  copy_into(*s, engine);
  s->schedule = schedule->clone();
  s->spec = spec;
  s->current = copy_of(heap, current);
  s->start = copy_of(heap, start);
  s->slots.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    s->slots[i] = copy_of(heap, slots[i]);
    if (slots[i].counted) count_snapshot(engine, s->slots[i]);
  }
  s->held = held;
  s->held_bytes = held_bytes;
  s->aside.reserve(aside.size());
  for (const TapeAside& from : aside) {
    s->aside.push_back({nullptr, from.ends, from.until, from.ended, from.spilled});
    s->aside.back().tape = from.tape->clone(heap).release();
    engine.tapes.share(from.tape->id());
  }
  s->ends = ends;
  s->births = births;
  s->weighed = weighed;
  s->constants = constants;
  fields([](auto& to, const auto& from) { to = from; }, *s, *this);
  s->outer = outer;
  if (outer != nullptr) Heap::retain(outer);
  return s;
}

void CheckpointState::uncount(Engine& engine, Snapshot& snapshot) {
  if (!std::exchange(snapshot.counted, false)) return;
  engine.heap().charge(engine.heap().capsules, -own_bytes(snapshot.runs));
  engine.heap().capsule_count -= 1;
  engine.snapshot_bytes -= snapshot.bytes;
}

void CheckpointState::drop(Engine& engine, Snapshot& snapshot) {
  uncount(engine, snapshot);
  engine.release_runs(snapshot.runs);
  snapshot.bytes = 0;
}

void CheckpointState::spill(TapeAside& tape) {
  tape.spilled = true;
  if (std::exchange(tape.idle, true)) return;
  tape.tape->shorten();
  tape.tape->each_storage([](ops::Storage& s) { s.device->set_idle(s); });
}

void CheckpointState::end_spill(TapeAside& tape) {
  tape.spilled = false;
  if (!std::exchange(tape.idle, false)) return;
  tape.tape->each_storage([](ops::Storage& s) { s.device->end_idle(s); });
}

void CheckpointState::drop(Engine& engine, TapeAside& tape) {
  if (tape.tape != nullptr) end_spill(tape);
  if (Tape* t = std::exchange(tape.tape, nullptr); t != nullptr) {
    engine.tapes.retire(t);
    t->release(engine.heap());
    delete t;
  }
}

std::size_t CheckpointState::held_until(std::uint64_t position) const {
  auto behind = std::upper_bound(held.begin(), held.end(), position,
                                 [&](std::uint64_t p, std::uint32_t slot) { return p < slots[slot].position; });
  return static_cast<std::size_t>(behind - held.begin());
}

void CheckpointState::find_held() {
  held.clear();
  held_bytes = 0;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].empty()) continue;
    held.push_back(i);
    held_bytes += slots[i].bytes;
  }
  std::stable_sort(held.begin(), held.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return slots[a].position < slots[b].position; });
}

void CheckpointState::drop_all(Engine& engine) {
  drop_tape(engine);
  for (TapeAside& tape : aside) drop(engine, tape);
  aside.clear();
  ends.reset();
  drop(engine, current);
  for (Snapshot& slot : slots) drop(engine, slot);
  held.clear();
  held_bytes = 0;
  births.clear();
  weighed.clear();
}

void CheckpointState::release(Heap& heap) {
  drop_all(*engine_);
  drop(*engine_, start);
  if (outer != nullptr) heap.release(outer);
  SweepState::release(heap);
}

void CheckpointState::finished(Engine& engine, Value v, std::uint64_t steps) {
  engine.heap().release(value);
  value = v;
  after_interval(engine, *this, steps, true);
}

void CheckpointState::expired(Engine& engine, machine::OwnedRuns segment) {
  drop(engine, current);
  std::uint64_t steps = segment.list[0].start; // turned into steps done
  current.serial = current.start = engine.cut_serial;
  for (const Run& r : segment.list)
    if (r.state != nullptr) current.start = std::max(current.start, r.run_state()->serial_floor());
  current.draws = log.drawn;
  current.effects = log.position;
  current.runs = segment.take();
  after_interval(engine, *this, steps, false);
}

// A composite's pass meets numbers of the tape that has the composite, and of those around it.
void CheckpointState::activate(Engine& engine) const {
  SweepState::activate(engine);
  for (const NativeObject* o = outer; o != nullptr;) {
    const auto* s = static_cast<const SweepState*>(o->native);
    s->SweepState::activate(engine);
    const auto* c = as_checkpoint(*s);
    o = c != nullptr ? c->outer : nullptr;
  }
}

void CheckpointState::resumed(Engine& engine) { highest = std::max(highest, engine.heap().next_serial); }

} // namespace cairn::runs
