// The states of run operators in capsule files.
#include "vm/runs/states.h"
#include "ops/plans/plan_bytes.h"
#include "vm/image/file_bytes.h"
#include "vm/image/image.h"
#include "vm/runs/streamed.h"

#include <algorithm>

namespace cairn::image {

using ops::plans::AccessPlan;
using ops::plans::CallRecorder;
using runs::CheckpointState;
using runs::Cotangent;
using runs::Snapshot;
using runs::SweepState;
using runs::Update;

namespace {

constexpr std::size_t kLeastTapeAside = 5;                         // bytes in a file: a tape, its end twice, two flags
constexpr std::size_t kLeastSnapshot = 7;                          // bytes in a file
constexpr std::int64_t kMostSnapshotBytes = std::int64_t{1} << 44; // of all together: sums of clones must not overflow

void write_update(ImageWriter& w, const Update* u) {
  w.flag(u != nullptr);
  if (u == nullptr) return;
  w.value(u->rule);
  w.flag(u->in_place);
  w.flag(u->stateful);
  w.flag(u->begun);
  w.number(w.copies(u->copies)); // leaves that a copy still needs are not given up
  w.number(u->pending + 1);
  w.number(u->leaves.size());
  for (const Update::Leaf& l : u->leaves) {
    w.value(l.leaf);
    w.value(l.state);
    w.place(l.place);
    w.number(l.node + 1);
    w.flag(l.done);
  }
  w.number(u->tensors.size());
  for (const auto& [serial, t] : u->tensors) {
    w.number(serial);
    w.number(t.leaf);
    w.number(t.first_read + 1);
  }
}

// What is not as it must be is met when it is used.
void read_update(ImageReader& r, SweepState& s) {
  if (!r.flag()) return;
  s.update = std::make_unique<Update>();
  Update& u = *s.update;
  r.value(u.rule);
  u.in_place = r.flag();
  u.reached = true; // perhaps by what ran before the state was written
  u.stateful = r.flag();
  auto leaf = [&] { return r.number32() - 1; }; // 0: none
  u.begun = r.flag();
  u.copies = r.copies();
  u.pending = leaf();
  u.leaves.resize(r.size(5));
  for (Update::Leaf& l : u.leaves) {
    r.value(l.leaf);
    r.value(l.state);
    l.place = r.place();
    l.node = leaf();
    l.done = r.flag();
  }
  if (u.pending != tape::kNone && u.pending >= u.leaves.size()) throw Malformed("an update of no leaf");
  for (std::uint32_t n = r.size(3); n > 0; --n) {
    std::uint64_t serial = r.count();
    Update::Tensor t{r.number32(), r.in.varint() - 1};
    if (t.leaf >= u.leaves.size() || !u.tensors.emplace(serial, t).second) throw Malformed("an update of no leaf");
  }
  u.account(r.engine.heap());
}

void write_sweep(ImageWriter& w, const SweepState& s) {
  w.flag(s.sweeping);
  w.tape(s.work);
  w.number(s.position);
  w.value(s.x);
  w.value(s.cotangent);
  w.value(s.value);
  w.number(s.serial);
  w.number(s.began);
  w.number(s.began_serial);
  w.number(s.through.size());
  s.through.for_each([&](tape::Place p, const Cotangent& c) {
    w.place(p);
    w.value(value::flonum(c.value));
    w.value(c.original);
  });
  w.number(s.tensors_through.size());
  for (const auto& [p, t] : s.tensors_through) {
    w.place({p.first, p.second});
    w.tensor(t);
  }
  w.number(s.skeletons.size());
  for (const tape::Output& o : s.skeletons) w.output(o);
  w.log(s.log);
  write_update(w, s.update.get());
}

void read_sweep(ImageReader& r, SweepState& s) {
  bool sweeping = r.flag();
  r.tape(s.work, sweeping);
  s.position = r.number32();
  std::uint32_t least = s.work != nullptr && !s.work->composites.empty() ? s.work->composites.back().node : 0;
  if (s.position > (s.work != nullptr ? s.work->size() : 0) || (sweeping && s.position < least))
    throw Malformed("a sweep beyond its tape");
  if (sweeping && s.work == nullptr) throw Malformed("a sweep without a tape");
  s.sweeping = sweeping;
  r.value(s.x);
  r.value(s.cotangent);
  r.value(s.value);
  s.serial = r.count();
  s.began = r.count();
  s.began_serial = r.count();
  std::uint64_t probes = 0;
  for (std::uint32_t n = r.size(4), i = 0; i < n; ++i) {
    tape::Place p = r.place();
    Value c = r.plain(), original = r.plain();
    if (!c.is_flonum()) throw Malformed("a cotangent that is no number");
    s.through.set(p, {c.flonum(), original});
    r.check_probes(probes += s.through.probes(p), i);
  }
  for (std::uint32_t n = r.size(4); n > 0; --n) {
    tape::Place p = r.place();
    ops::Tensor& t = s.tensors_through[{p.serial, p.slot}];
    r.tensor(t);
    if (!t.storage) throw Malformed("a cotangent without elements");
  }
  s.skeletons.resize(r.size(5));
  for (tape::Output& o : s.skeletons) r.output(o);
  r.log(s.log);
  read_update(r, s);
}

// A field of a state, by its type.
struct WriteField {
  ImageWriter& w;
  void operator()(bool b) const { w.flag(b); }
  void operator()(std::uint64_t v) const { w.number(v); }
  void operator()(std::int64_t v) const { w.number(static_cast<std::uint64_t>(v)); }
  void operator()(tape::Place p) const { w.place(p); }
};
struct ReadField {
  ImageReader& r;
  void operator()(bool& b) const { b = r.flag(); }
  void operator()(std::uint64_t& v) const { v = r.count(); }
  void operator()(std::int64_t& v) const { v = static_cast<std::int64_t>(r.count()); }
  void operator()(tape::Place& p) const { p = r.place(); }
};

void write_snapshot(ImageWriter& w, const Snapshot& s) {
  w.runs(s.runs);
  Snapshot::fields(WriteField{w}, s);
  w.number(static_cast<std::uint64_t>(s.bytes));
}

void read_snapshot(ImageReader& r, Snapshot& s) {
  r.runs(s.runs, ImageReader::Stack::snapshot);
  Snapshot::fields(ReadField{r}, s);
  s.bytes = static_cast<std::int64_t>(r.count(kMostSnapshotBytes));
}

void write_ends(ImageWriter& w, const runs::TapeEnds& ends) {
  w.number(ends.size());
  for (const runs::TapeEnd& end : ends) {
    w.place(end.place);
    w.number(std::uint64_t{end.node} + 1);
  }
}

void read_ends(ImageReader& r, runs::TapeEnds& ends, const tape::Tape* tape) {
  ends.resize(r.size(3));
  for (runs::TapeEnd& end : ends) {
    end.place = r.place();
    end.node = static_cast<std::uint32_t>(r.count(std::uint64_t{tape::kNone} + 1) - 1);
    if (tape == nullptr || (end.node != tape::kNone && end.node >= tape->size()))
      throw Malformed("the end of a tape is not on it");
  }
}

void write_checkpoint(ImageWriter& w, const CheckpointState& s) {
  std::vector<std::uint64_t> words;
  s.schedule->save(words);
  w.number(words.size());
  for (std::uint64_t v : words) w.number(v);
  w.number(s.spec);
  write_snapshot(w, s.current);
  write_snapshot(w, s.start);
  w.number(s.slots.size());
  for (const Snapshot& slot : s.slots) write_snapshot(w, slot);
  w.number(s.aside.size());
  for (const runs::TapeAside& a : s.aside) {
    w.tape(a.tape);
    write_ends(w, a.ends);
    w.number(a.until);
    w.flag(a.ended);
    w.flag(a.spilled);
  }
  w.flag(s.ends.has_value());
  if (s.ends) write_ends(w, *s.ends);
  w.number(s.births.size());
  for (std::uint64_t birth : s.births) w.number(birth);
  w.number(s.weighed.size());
  for (const runs::Weighed& elements : s.weighed) {
    w.number(elements.birth);
    w.number(elements.until);
  }
  w.number(s.constants.size());
  for (const runs::ConstantPlace& known : s.constants) {
    w.number(known.position);
    w.place(known.place);
  }
  CheckpointState::fields(WriteField{w}, s);
  w.object(s.outer);
}

void read_checkpoint(ImageReader& r, CheckpointState& s) {
  std::vector<std::uint64_t> words(r.size(1));
  for (std::uint64_t& v : words) v = r.in.varint();
  s.schedule = schedule::restore(words);
  if (s.schedule == nullptr) throw Malformed("a schedule in no known state");
  std::uint32_t spec = r.number32();
  if (spec >= r.engine.schedules.size()) throw Malformed("a state under no known schedule");
  s.spec = spec;
  read_snapshot(r, s.current);
  read_snapshot(r, s.start);
  s.slots.resize(r.size(kLeastSnapshot));
  for (Snapshot& slot : s.slots) {
    read_snapshot(r, slot);
    if (slot.empty() && slot.bytes != 0) throw Malformed("bytes in no snapshot");
    if (r.engine.snapshot_bytes > kMostSnapshotBytes - slot.bytes) throw Malformed("more bytes in snapshots than there are");
    if (!slot.empty()) runs::count_snapshot(r.engine, slot);
  }
  s.find_held();
  runs::TapeEnds none{{r.engine.heap(), r.engine.heap().tape}};
  for (std::uint32_t n = r.size(kLeastTapeAside); n > 0; --n) {
    s.aside.push_back({nullptr, none});
    runs::TapeAside& a = s.aside.back();
    r.tape(a.tape, false);
    if (a.tape == nullptr) throw Malformed("no tape where one was put aside");
    read_ends(r, a.ends, a.tape);
    a.until = r.count();
    a.ended = r.flag();
    a.spilled = r.flag();
    if (a.spilled) s.spill(a); // before the next one is read, which there may be no memory for
  }
  if (r.flag()) read_ends(r, s.ends.emplace(none), s.work);
  s.births.resize(r.size(1));
  for (std::uint64_t& birth : s.births) birth = r.count();
  if (!std::is_sorted(s.births.begin(), s.births.end())) throw Malformed("births out of order");
  s.weighed.resize(r.size(2));
  for (runs::Weighed& elements : s.weighed) {
    elements.birth = r.count();
    elements.until = r.count(tape::kLeanLevels);
  }
  if (!std::ranges::is_sorted(s.weighed, {}, &runs::Weighed::birth)) throw Malformed("elements out of order");
  s.constants.resize(r.size(3));
  for (runs::ConstantPlace& known : s.constants) {
    known.position = r.count();
    known.place = r.place();
  }
  if (!std::ranges::is_sorted(s.constants)) throw Malformed("constants out of order");
  CheckpointState::fields(ReadField{r}, s);
  r.object(s.outer, value::Kind::state);
}

enum class StateSort : std::uint8_t { reverse, checkpoint, streamed };

StateSort sort_of(const RunState& state) {
  return is_streamed_state(state) ? StateSort::streamed : is_checkpoint_state(state) ? StateSort::checkpoint : StateSort::reverse;
}

} // namespace

namespace {

// Numbers that no machine would have written are met by whoever makes a recorder of them.
void write_recording(ImageWriter& w, const CallRecorder::Parts& parts) {
  w.number(parts.program >> 32);
  w.number(parts.program & UINT32_MAX);
  w.number(static_cast<std::uint64_t>(parts.lost));
  w.number(parts.blocks.size());
  for (const CallRecorder::Parts::Block& block : parts.blocks) {
    w.number(block.bytes);
    w.number(block.name & ~ops::plans::kBorn);
    w.flag(ops::plans::is_born(block.name));
    w.flag(block.made);
    w.flag(block.named);
  }
  w.number(parts.durations.size());
  for (std::size_t i = 0; i < parts.durations.size(); ++i) {
    w.number(parts.durations[i]);
    w.number(parts.first_use[i + 1] - parts.first_use[i]);
    for (std::uint32_t u = parts.first_use[i]; u < parts.first_use[i + 1]; ++u)
      w.number(std::uint64_t{parts.uses[u].block} << 2 | static_cast<std::uint64_t>(parts.uses[u].use));
  }
}

CallRecorder::Parts read_recording(ImageReader& r) {
  CallRecorder::Parts parts;
  parts.program = r.count() << 32;
  parts.program |= r.count();
  using Lost = CallRecorder::Parts::Lost;
  parts.lost = static_cast<Lost>(r.count(static_cast<std::uint64_t>(Lost::too_deep)));
  parts.blocks.resize(r.size(5));
  for (CallRecorder::Parts::Block& block : parts.blocks) {
    block.bytes = r.count(AccessPlan::kMostBytes);
    block.name = r.count();
    if (r.flag()) block.name = ops::plans::born_name(block.name);
    block.made = r.flag();
    block.named = r.flag();
  }
  parts.durations.resize(r.size(2));
  for (ops::plans::Picoseconds& duration : parts.durations) {
    duration = r.count(AccessPlan::kMostDuration);
    for (std::uint32_t n = r.size(1); n > 0; --n) {
      const std::uint64_t use = r.count();
      parts.uses.push_back(
          {static_cast<std::uint32_t>(std::min<std::uint64_t>(use >> 2, UINT32_MAX)), static_cast<ops::plans::Use>(use & 3)});
    }
    parts.first_use.push_back(static_cast<std::uint32_t>(parts.uses.size()));
  }
  return parts;
}

} // namespace

void ImageWriter::streamed(const runs::StreamedState& s) {
  flag(s.given_up);
  flag(s.streamed != nullptr);
  if (s.streamed == nullptr) return;
  number(s.streamed->leaves.size());
  for (const std::uint64_t leaf : s.streamed->leaves) number(leaf + 1);
  flag(s.streamed->recorder.has_value());
  if (s.streamed->recorder) return write_recording(*this, s.streamed->recorder->parts());
  const std::vector<std::byte> bytes = to_bytes(*s.streamed->plan);
  number(bytes.size());
  out.raw(bytes.data(), bytes.size());
}

// Numbers come in the order in which updates were met.
std::shared_ptr<const int> ImageReader::copies() {
  const std::uint64_t number = count(updates_.size());
  if (number == updates_.size()) updates_.push_back(std::make_shared<const int>(0));
  return updates_[static_cast<std::size_t>(number)];
}

void ImageReader::streamed(runs::StreamedState& s) {
  s.given_up = flag();
  if (!flag()) return;
  s.streamed = std::make_shared<ops::streaming::Call>();
  ops::streaming::Call& call = *s.streamed;
  call.leaves.resize(size(1));
  for (std::uint64_t& leaf : call.leaves) leaf = count() - 1;
  if (flag()) {
    recordings_.push_back([this, &call, parts = read_recording(*this)] {
      std::unordered_map<ops::plans::Name, ops::plans::Name> renamed;
      for (const auto& [was, is] : renumbered_) renamed.emplace(ops::plans::born_name(was), ops::plans::born_name(is));
      std::string fault;
      call.recorder = CallRecorder::going_on(parts, renamed, fault);
      if (!call.recorder) throw Malformed(fault);
    });
  } else {
    const std::uint64_t size = count(in.left());
    value::ChargedVector<std::byte> bytes(static_cast<std::size_t>(size), engine.heap());
    const std::uint64_t most = in.in_memory() ? size : FileBytes::kWindow;
    for (std::uint64_t done = 0; done < size;) {
      const auto piece = in.take(std::min(most, size - done));
      std::ranges::copy(piece, bytes.begin() + static_cast<std::ptrdiff_t>(done));
      done += piece.size();
    }
    std::string fault;
    std::optional<AccessPlan> plan = ops::plans::from_bytes(bytes, fault);
    if (!plan) throw Malformed(fault);
    call.plan = std::make_shared<const AccessPlan>(*std::move(plan));
  }
  recordings_.push_back([this, &call] {
    for (std::uint64_t& leaf : call.leaves) {
      const auto now = renumbered_.find(leaf);
      leaf = now != renumbered_.end() ? now->second : ops::streaming::Call::kGone;
    }
  });
}

void write_state(ImageWriter& w, const RunState& state) {
  w.number(static_cast<std::uint64_t>(sort_of(state)));
  if (const auto* const streamed = dynamic_cast<const runs::StreamedState*>(&state)) return w.streamed(*streamed);
  write_sweep(w, dynamic_cast<const SweepState&>(state));
  if (const auto* reverse = dynamic_cast<const runs::ReverseState*>(&state)) {
    w.number(reverse->cost);
    w.number(reverse->largest);
    w.number(reverse->largest_swept);
  } else {
    write_checkpoint(w, dynamic_cast<const CheckpointState&>(state));
  }
}

OwnedState begin_state(ImageReader& r) {
  switch (static_cast<StateSort>(r.count(static_cast<std::uint64_t>(StateSort::streamed)))) {
  case StateSort::checkpoint:
    return r.engine.heap().own<CheckpointState>(r.engine);
  case StateSort::streamed:
    return r.engine.heap().own<runs::StreamedState>(r.engine);
  default:
    return r.engine.heap().own<runs::ReverseState>(r.engine);
  }
}

void read_state(ImageReader& r, RunState& state) {
  if (auto* const streamed = dynamic_cast<runs::StreamedState*>(&state)) return r.streamed(*streamed);
  auto& sweep = dynamic_cast<SweepState&>(state);
  read_sweep(r, sweep);
  if (auto* checkpoint = dynamic_cast<CheckpointState*>(&state)) {
    read_checkpoint(r, *checkpoint);
  } else {
    auto& reverse = dynamic_cast<runs::ReverseState&>(state);
    reverse.cost = r.count();
    reverse.largest = r.count();
    reverse.largest_swept = r.count();
    reverse.account();
  }
}

bool is_streamed_state(const RunState& state) { return dynamic_cast<const runs::StreamedState*>(&state) != nullptr; }

bool is_checkpoint_state(const RunState& state) { return dynamic_cast<const CheckpointState*>(&state) != nullptr; }

bool can_run(const RunState& state) { return !dynamic_cast<const SweepState&>(state).sweeping; }

} // namespace cairn::image
