// checkpoint-*j: the executor of schedules. It performs one action a step; what an interval is, is in intervals.cpp.
#include "vm/runs/intervals.h"
#include "vm/runs/recording.h"
#include "vm/runs/thinning.h"
#include "vm/runs/weighing.h"
#include "vm/schedule/schedule.h"

#include <algorithm>

namespace cairn::runs {

using machine::rules::Owned;
using schedule::Action;

namespace {

// A walk over more objects than that takes milliseconds.
constexpr std::uint64_t kLongWalk = 1 << 16;

// Serial from which on objects belong to the current state and to no snapshot that is held before it.
std::uint64_t first_own_serial(const CheckpointState& s) {
  const std::size_t before = s.held_until(s.current.position);
  return before == 0 ? s.low : std::max(s.low, s.slots[s.held[before - 1]].serial);
}

// Whether the next action may walk over many objects: those that a snapshot has and the one before it has not, those that a tape
// met, or the value of the program.
bool may_walk_far(const CheckpointState& s) {
  if (s.work != nullptr && (s.work_ended || s.work->size() > kLongWalk)) return true;
  const std::uint64_t since = s.work != nullptr ? std::min(first_own_serial(s), s.work->start()) : first_own_serial(s);
  return s.current.serial > since && s.current.serial - since > kLongWalk;
}

std::int64_t signed_bytes(std::uint64_t bytes) { return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)); }

// Records are made anew, so what is idle of them is told again.
void thin_aside(Engine& engine, CheckpointState& s, TapeAside& tape, std::size_t level) {
  const bool idle = tape.idle, spilled = tape.spilled;
  s.end_spill(tape);
  tape.spilled = spilled;
  try {
    thin(engine, *tape.tape, level);
  } catch (...) {
    if (idle) s.spill(tape);
    throw;
  }
  if (idle) s.spill(tape);
}

// In the order in which sweeps will ask for them.
void fetch_ahead(Engine& engine, CheckpointState& s, std::int64_t most) {
  if (engine.tensor_world == nullptr) return;
  ops::Device& device = engine.tensors().cpu();
  for (std::size_t i = s.aside.size(); i-- > 0 && s.aside[i].spilled && device.fetched_ahead() < most;)
    if (!s.aside[i].tape->each_storage_backwards([&](ops::Storage& storage) {
          return storage.device != &device || (device.fetched_ahead() < most && device.fetch_ahead(storage));
        }))
      return;
}

} // namespace

void discard(Engine& engine, CheckpointState& s, std::uint32_t slot) {
  Snapshot& from = s.slots[slot];
  s.held_bytes -= from.bytes;
  // Of several at one position it is one of the last.
  for (std::size_t i = s.held_until(from.position); i-- > 0;)
    if (s.held[i] == slot) {
      s.held.erase(s.held.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  if (from.position == 0 && s.start.empty() && can_go_on(engine, s)) {
    s.uncount(engine, from);
    s.start = std::exchange(from, {});
    s.start.bytes = 0;
  }
  s.drop(engine, from);
}

namespace {

void perform(Engine& engine, CheckpointState* s, Action a, Owned& state) {
  auto slot_at = [&](std::uint32_t index) -> Snapshot& {
    want(index <= s->slots.size()); // slots are taken in order
    if (index >= s->slots.size()) s->slots.resize(index + 1);
    return s->slots[index];
  };
  // These walk, and hold once they change something.
  if (a.kind != Action::Kind::snapshot && a.kind != Action::Kind::reverse && a.kind != Action::Kind::put_aside &&
      a.kind != Action::Kind::thin && a.kind != Action::Kind::weigh && a.kind != Action::Kind::spill)
    engine.meter().hold();
  switch (a.kind) {
  case Action::Kind::tape:
  case Action::Kind::advance:
    if (s->current.position == 0 && s->held.empty() && s->start.empty() && can_go_on(engine, *s))
      s->start = copy_of(engine.heap(), s->current);
    if (a.kind == Action::Kind::tape) begin_tape(engine, *s, a.records);
    begin_interval(engine, *s, state, a.steps);
    return;
  case Action::Kind::snapshot: {
    Snapshot& to = slot_at(a.slot);
    want(to.empty() && !s->current.empty());
    Snapshot kept = copy_of(engine.heap(), s->current);
    try {
      kept.bytes = logical_bytes(engine, kept.runs, first_own_serial(*s));
      count_snapshot(engine, kept);
    } catch (...) {
      engine.release_runs(kept.runs);
      throw;
    }
    engine.meter().hold();
    const std::size_t before = s->held_until(s->current.position);
    to = std::move(kept);
    ++engine.statistics.capsules_taken;
    ++s->snapshots_taken;
    s->snapshot_bytes_sum += to.bytes;
    s->held.insert(s->held.begin() + static_cast<std::ptrdiff_t>(before), a.slot);
    s->held_bytes += to.bytes;
    s->peak_snapshots = std::max(s->peak_snapshots, std::uint64_t{s->held.size()});
    s->peak_snapshot_bytes = std::max(s->peak_snapshot_bytes, s->held_bytes);
    s->schedule->kept(static_cast<std::uint64_t>(to.bytes));
    break;
  }
  case Action::Kind::restore: {
    Snapshot kept = copy_of(engine.heap(), slot_at(a.slot));
    s->drop(engine, s->current);
    s->current = std::move(kept);
    s->current.bytes = 0;
    s->ended = false;
    break;
  }
  case Action::Kind::discard: {
    want(!slot_at(a.slot).empty());
    discard(engine, *s, a.slot);
    break;
  }
  case Action::Kind::reverse:
    want(s->work != nullptr && !s->sweeping && (s->work_ended || s->ends || !s->current.empty()));
    if (s->work_ended)
      seed_final(engine, *s, "checkpoint-*j");
    else
      seed_interval(engine, *s);
    s->swept_from = s->work->start();
    s->drop(engine, s->current);
    break;
  case Action::Kind::put_aside: {
    want(s->work != nullptr && !s->sweeping && !s->current.empty());
    TapeEnds ends{{engine.heap(), engine.heap().tape}};
    machine::OwnedRuns stripped(engine.heap(), {});
    if (!s->work_ended) {
      ends = tape_ends(engine, s->current.runs, *s->work);
      stripped.list = without_tape(engine, s->current.runs, *s->work);
    }
    engine.meter().hold();
    s->aside.push_back({nullptr, std::move(ends), s->until, s->work_ended});
    s->aside.back().tape = std::exchange(s->work, nullptr);
    engine.release_runs(s->current.runs);
    s->current.runs = stripped.take();
    break;
  }
  case Action::Kind::take_back: {
    want(s->work == nullptr && !s->aside.empty());
    s->aside.back().tape->lengthen();
    s->drop(engine, s->current);
    TapeAside& back = s->aside.back();
    s->end_spill(back);
    s->work = back.tape;
    s->ends = std::move(back.ends);
    s->until = back.until;
    s->work_ended = back.ended;
    s->aside.pop_back();
    break;
  }
  case Action::Kind::abandon:
    want(a.slot < s->aside.size());
    s->drop(engine, s->aside[a.slot]);
    s->aside.erase(s->aside.begin() + a.slot);
    break;
  case Action::Kind::thin:
    want(a.slot < s->aside.size());
    thin_aside(engine, *s, s->aside[a.slot], a.steps);
    engine.meter().hold();
    break;
  case Action::Kind::spill: {
    want(a.slot < s->aside.size());
    engine.use_spill_file();
    s->aside[a.slot].spilled = true;
    for (TapeAside& tape : s->aside) // those of a copy whose original has gone, too
      if (tape.spilled && !tape.tape->shares_records()) s->spill(tape);
    if (engine.tensor_world != nullptr) engine.tensors().cpu().wait_for_spilled(signed_bytes(a.records));
    engine.meter().hold();
    break;
  }
  case Action::Kind::fetch:
    engine.meter().hold();
    fetch_ahead(engine, *s, signed_bytes(a.records));
    break;
  case Action::Kind::weigh:
    tell_weights(engine, *s);
    break;
  case Action::Kind::done:
    remember(engine, *s);
    s->complete = true;
    s->drop(engine, s->start);
    break;
  }
  engine.deliver(state.take());
}

} // namespace

// What walks far may be stopped, and the schedule is then where it was; all else is short.
void act(Engine& engine, Owned& state) {
  auto* s = state_in<CheckpointState>(engine, state.v);
  const bool recorded = engine.recorder != nullptr && s->outermost;
  if (recorded) record_arrival(engine, *s);
  make_way_ahead(engine, *s);
  std::unique_ptr<schedule::Schedule> before;
  if (may_walk_far(*s) || s->schedule->walks_next())
    before = s->schedule->clone();
  else
    engine.meter().hold();
  try {
    Action action = s->schedule->next();
    if (s->schedule->surveyed()) {
      if (!is_surveying(engine)) {
        end_own_survey(engine, *s);
      } else if (!survey_again(engine, *s)) {
        engine.meter().hold(); // a stop in what comes next finds it as it is
        if (survey_updates(engine, *s)) return engine.deliver(state.take());
        end_survey(engine, *s);
      }
      action = s->schedule->next();
    }
    if (s->schedule->misled()) {
      begin_unknown(engine, *s);
      action = s->schedule->next();
    }
    perform(engine, s, action, state);
    if (recorded) record_action(engine, *s, action);
  } catch (const ops::Stopped&) {
    if (before != nullptr) s->schedule = std::move(before);
    throw;
  } catch (const value::BudgetExceeded&) {
    // An action of a gradient inside is done again, once the outermost one has let go of something. That one goes on from what it
    // was about to do.
    if (before != nullptr && !s->outermost && !engine.meter().held()) s->schedule = std::move(before);
    throw;
  }
}

} // namespace cairn::runs
