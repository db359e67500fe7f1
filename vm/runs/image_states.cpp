// The states of run operators in capsule files.
#include "vm/machine/image.h"
#include "vm/runs/states.h"

namespace cairn::runs {

using machine::ImageReader;
using machine::ImageWriter;
using machine::Malformed;

namespace {

void write_sweep(ImageWriter& w, const SweepState& s) {
  w.tape(s.work);
  w.out.u32(s.position);
  w.flag(s.sweeping);
  w.value(s.x);
  w.value(s.cotangent);
  w.value(s.value);
  w.out.u64(s.serial);
  w.out.u32(static_cast<std::uint32_t>(s.through.size()));
  s.through.for_each([&](tape::Place p, const Cotangent& c) {
    w.place(p);
    w.out.u64(value::flonum(c.value).bits);
    w.out.u64(c.original.bits);
  });
  w.out.u32(static_cast<std::uint32_t>(s.skeletons.size()));
  for (const tape::Output& o : s.skeletons) w.output(o);
  w.log(s.log);
}

void read_sweep(ImageReader& r, SweepState& s) {
  s.work = r.tape();
  s.position = r.in.u32();
  s.sweeping = r.flag();
  if (s.position > (s.work != nullptr ? s.work->size() : 0)) throw Malformed("a sweep beyond its tape");
  if (s.sweeping && s.work == nullptr) throw Malformed("a sweep without a tape");
  r.value(s.x);
  r.value(s.cotangent);
  r.value(s.value);
  s.serial = r.in.u64();
  for (std::uint32_t n = r.in.count(28); n > 0; --n) {
    tape::Place p = r.place();
    Value c{r.in.u64()}, original{r.in.u64()};
    if (!c.is_flonum() || original.is_object()) throw Malformed("a cotangent that is no number");
    s.through.set(p, {c.flonum(), original});
  }
  s.skeletons.resize(r.in.count(20));
  for (tape::Output& o : s.skeletons) r.output(o);
  r.log(s.log);
}

void write_snapshot(ImageWriter& w, const Snapshot& s) {
  w.runs(s.runs);
  for (std::uint64_t v : {s.serial, s.random, s.effects, s.start, s.position}) w.out.u64(v);
  w.out.u64(static_cast<std::uint64_t>(s.bytes));
}

void read_snapshot(ImageReader& r, Snapshot& s) {
  r.runs(s.runs);
  for (std::uint64_t* v : {&s.serial, &s.random, &s.effects, &s.start, &s.position}) *v = r.in.u64();
  s.bytes = static_cast<std::int64_t>(r.in.u64());
}

} // namespace

void write_checkpoint(ImageWriter& w, const CheckpointState& s) {
  std::vector<std::uint64_t> words;
  s.schedule->save(words);
  w.out.u32(static_cast<std::uint32_t>(words.size()));
  for (std::uint64_t v : words) w.out.u64(v);
  w.out.u32(s.spec);
  write_snapshot(w, s.current);
  w.out.u32(static_cast<std::uint32_t>(s.slots.size()));
  for (const Snapshot& slot : s.slots) write_snapshot(w, slot);
  w.tape(s.aside);
  w.runs(s.aside_runs);
  for (bool b : {s.aside_ended, s.complete, s.ended, s.work_ended, s.total_known, s.outermost}) w.flag(b);
  for (std::uint64_t v : {s.total, s.executed, s.low, s.highest, s.end_random, s.random_floor, s.taped_steps, s.taped_sum, s.work_before,
                          s.peak_records, s.stack_bytes, s.snapshots_taken, s.peak_snapshots})
    w.out.u64(v);
  w.out.u64(static_cast<std::uint64_t>(s.snapshot_bytes_sum));
  w.out.u64(static_cast<std::uint64_t>(s.peak_snapshot_bytes));
  w.place(s.x_place);
  w.object(s.outer);
}

void read_checkpoint(ImageReader& r, CheckpointState& s) {
  std::vector<std::uint64_t> words(r.in.count(8));
  for (std::uint64_t& v : words) v = r.in.u64();
  s.schedule = schedule::restore(words);
  if (s.schedule == nullptr) throw Malformed("a schedule in no known state");
  s.spec = r.in.u32();
  if (s.spec >= r.engine.schedules.size()) throw Malformed("a state under no known schedule");
  read_snapshot(r, s.current);
  s.slots.resize(r.in.count(44));
  for (Snapshot& slot : s.slots) {
    read_snapshot(r, slot);
    if (!slot.empty()) hold_snapshot(r.engine, 1, slot.bytes);
  }
  s.aside = r.tape();
  r.runs(s.aside_runs);
  for (bool* b : {&s.aside_ended, &s.complete, &s.ended, &s.work_ended, &s.total_known, &s.outermost}) *b = r.flag();
  for (std::uint64_t* v : {&s.total, &s.executed, &s.low, &s.highest, &s.end_random, &s.random_floor, &s.taped_steps, &s.taped_sum,
                           &s.work_before, &s.peak_records, &s.stack_bytes, &s.snapshots_taken, &s.peak_snapshots})
    *v = r.in.u64();
  s.snapshot_bytes_sum = static_cast<std::int64_t>(r.in.u64());
  s.peak_snapshot_bytes = static_cast<std::int64_t>(r.in.u64());
  s.x_place = r.place();
  r.object(s.outer, value::Kind::state);
}

} // namespace cairn::runs

namespace cairn::machine {

void write_state(ImageWriter& w, const RunState& state) {
  const auto* checkpoint = dynamic_cast<const runs::CheckpointState*>(&state);
  w.flag(checkpoint != nullptr);
  runs::write_sweep(w, dynamic_cast<const runs::SweepState&>(state));
  if (checkpoint != nullptr) runs::write_checkpoint(w, *checkpoint);
}

RunState* read_state(ImageReader& r) {
  if (r.flag()) {
    auto s = std::make_unique<runs::CheckpointState>(r.engine);
    runs::read_sweep(r, *s);
    runs::read_checkpoint(r, *s);
    return s.release();
  }
  auto s = std::make_unique<runs::ReverseState>(r.engine);
  runs::read_sweep(r, *s);
  return s.release();
}

} // namespace cairn::machine
