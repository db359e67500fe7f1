// Writing the state of a machine.
#include "vm/bytecode/file.h"
#include "vm/image/header.h"
#include "vm/image/image.h"
#include "vm/runs/operators.h"

#include <bit>
#include <cstring>

namespace cairn::image {

using bytecode::zigzag;

namespace {

// Only the module's objects are immortal, and what was referred to more than 2^31 times.
bool is_immortal(const Object* o) { return static_cast<std::int32_t>(o->count) < 0; }

} // namespace

ImageWriter::ImageWriter(const Engine& engine, ImageSink* sink, ImageChecksum* checksum)
    : out(sink, checksum, engine.meter()), engine_(engine), numbers_(engine.accounts()), constants_(engine.accounts()),
      first_group_(engine.accounts()), groups_(engine.accounts()), stack_(engine.accounts()), storages_(engine.accounts()) {
  const LoadedModule& m = engine.loaded;
  std::uint32_t n = 0;
  for (const std::vector<Value>* list : {&m.constants, &m.procedures})
    for (Value v : *list) {
      if (v.is_object()) constants_.number(value::object_of(v), n);
      ++n;
    }
  // Counted, then put in order: sorted by their first function, and by number among those of one.
  first_group_.resize(m.module.functions.size() + 1);
  for (const bytecode::Group& group : m.module.groups) ++first_group_[group.functions[0] + 1];
  for (std::size_t f = 1; f < first_group_.size(); ++f) first_group_[f] += first_group_[f - 1];
  groups_.resize(m.module.groups.size());
  value::ChargedVector<std::uint32_t> next = first_group_;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    groups_[next[m.module.groups[g].functions[0]]++] = static_cast<std::uint32_t>(g);
}

// How many objects were met since it was, itself included: 0 where it is met now.
std::uint64_t ImageWriter::distance(const Object* o) {
  if (o->count != 1) // what has one reference is met once
    if (std::uint32_t n = numbers_.number(o, count_); n != count_) return count_ - n;
  ++count_;
  stack_.push_back(o);
  return 0;
}

void ImageWriter::object(const Object* o) { out.varint(o == nullptr ? 0 : 1 + distance(o)); }

// An odd number is that of an object of the module.
void ImageWriter::reference(Value v, unsigned tag) {
  const Object* o = value::object_of(v);
  std::uint32_t constant = is_immortal(o) ? constants_.number(o, ObjectNumbers::kNone) : ObjectNumbers::kNone;
  std::uint64_t n = constant != ObjectNumbers::kNone ? std::uint64_t{constant} * 2 + 1 : distance(o) * 2;
  out.varint(n << kImageTagBits | tag);
}

void ImageWriter::value(Value v) {
  auto tagged = [&](std::uint64_t payload, ImageTag tag) { out.varint(payload << kImageTagBits | static_cast<unsigned>(tag)); };
  switch (v.tag()) {
  case value::kIntegerTag:
    tagged(zigzag(v.integer()), ImageTag::integer);
    break;
  case value::kImmediateTag:
    tagged(v.payload(), ImageTag::immediate);
    break;
  case value::kTapedTag:
    tagged(v.payload(), ImageTag::taped);
    break;
  case value::kPairTag:
    reference(v, static_cast<unsigned>(ImageTag::pair));
    break;
  case value::kProcedureTag:
    reference(v, static_cast<unsigned>(ImageTag::procedure));
    out.varint((v.procedure()->offset - sizeof(ClosureBlock)) / sizeof(Procedure));
    break;
  case value::kOtherTag:
    reference(v, static_cast<unsigned>(ImageTag::other));
    break;
  default:
    tagged(0, ImageTag::flonum);
    out.u64(v.bits);
  }
}

// An odd number is that of the machine's own code.
void ImageWriter::code(const Code* c) {
  if (c->module != nullptr) {
    out.varint(std::uint64_t{c->index} * 2);
    return;
  }
  std::uint64_t n = 0;
  while (runs::machine_code(n).code != c) ++n;
  out.varint(n * 2 + 1);
}

std::uint32_t ImageWriter::group_of(ClosureBlock* b) const {
  const std::vector<bytecode::Group>& groups = engine_.loaded.module.groups;
  const std::uint32_t first = b->procedure(0)->code->index;
  for (std::uint32_t at = first_group_[first]; at < first_group_[first + 1]; ++at) {
    const std::uint32_t g = groups_[at];
    const bytecode::Group& group = groups[g];
    bool same = group.captures == b->captures && group.functions.size() == b->procedures;
    for (std::uint32_t i = 0; same && i < b->procedures; ++i) same = group.functions[i] == b->procedure(i)->code->index;
    if (same) return g;
  }
  return ObjectNumbers::kNone; // there is no such block
}

void ImageWriter::block(ClosureBlock* b) {
  if (b->procedure(0)->code->module == nullptr)
    code(b->procedure(0)->code);
  else
    out.varint(std::uint64_t{group_of(b)} * 2);
  for (std::uint32_t i = 0; i < b->captures; ++i) value(b->captured()[i]);
}

void ImageWriter::runs(const std::vector<Run>& list) {
  out.varint(list.size());
  for (const Run& r : list) run(r);
}

void ImageWriter::run(const Run& r) {
  object(r.top);
  out.u8(static_cast<std::uint8_t>(r.kind));
  out.varint(r.deadline + 1); // 0: never
  out.varint(r.start);
  out.varint(r.epoch);
  object(r.state);
  for (const std::uint32_t number : {r.own_schedule, r.own_lossy}) out.varint(number == kInherit ? 0 : 1 + number);
}

void ImageWriter::log(const EffectLog& log) {
  out.varint(log.position);
  flag(log.silent);
  out.varint(log.inputs.size());
  log.inputs.each([&](Value v) { value(v); });
  out.varint(log.drawn);
  draws(log.draws);
}

void ImageWriter::draws(const tape::Draws& d) {
  out.varint(d.size());
  out.varint(d.ranges().size());
  for (const tape::Draws::Range& s : d.ranges()) {
    out.varint(s.first);
    out.varint(s.counter);
  }
}

void ImageWriter::tape(const Tape* t) {
  flag(t != nullptr);
  if (t == nullptr) return;
  out.varint(t->id());
  out.varint(t->low());
  out.varint(t->start());
  t->write_records([&](const tape::Record& r) { out.raw(&r, sizeof r); },
                   [&](const void* data, std::size_t size) { out.raw(data, size); });
  out.varint(t->inputs.size());
  t->inputs.for_each([&](tape::Place p, const tape::Input& i) {
    place(p);
    out.varint(i.node);
    value(i.original);
  });
  out.varint(t->composites.size());
  for (const tape::Composite& c : t->composites) {
    out.varint(c.node);
    out.varint(c.serial);
    value(c.f);
    value(c.x);
    value(c.cotangent);
  }
  out.varint(t->outputs.size());
  for (const tape::Output& o : t->outputs) output(o);
  tensor_records(*t);
  out.varint(t->constant_places().size());
  for (const tape::Place& p : t->constant_places()) place(p);
  out.varint(t->constant_inputs().size());
  for (const std::uint32_t node : t->constant_inputs()) out.varint(node);
}

void ImageWriter::output(const tape::Output& o) {
  out.varint(o.serial);
  value(o.skeleton);
  static const tape::EffectValues no_inputs;
  static const tape::Draws no_draws;
  const tape::EffectValues& inputs = o.effects != nullptr ? o.effects->inputs : no_inputs;
  out.varint(inputs.size());
  inputs.each([&](Value v) { value(v); });
  draws(o.effects != nullptr ? o.effects->draws : no_draws);
  out.varint(o.cost);
  out.varint(o.largest);
  out.varint(o.sweeping);
}

void ImageWriter::serial(const Object* o) {
  out.varint(zigzag(static_cast<std::int64_t>(o->serial - serial_)));
  serial_ = o->serial;
}

// A pair, and as long as the cdr is a pair with one reference, that one: it would be next.
void ImageWriter::pairs(const value::Pair* p) {
  for (;;) {
    value(p->car);
    if (!p->cdr.is_pair() || p->cdr.pair()->count != 1) return value(p->cdr);
    out.varint(static_cast<unsigned>(ImageTag::pair));
    ++count_;
    p = p->cdr.pair();
    serial(p);
  }
}

// What is known from the reference is not said again: the kinds of pairs, closure blocks and frames.
void ImageWriter::body(const Object* o) {
  switch (o->kind) {
  case Kind::pair:
  case Kind::closure_block:
  case Kind::frame:
    break;
  default:
    out.u8(static_cast<std::uint8_t>(o->kind));
  }
  if (o->kind != Kind::symbol) serial(o); // a symbol is found by its text
  switch (o->kind) {
  case Kind::pair:
    pairs(static_cast<const value::Pair*>(o));
    break;
  case Kind::vector: {
    const auto* v = static_cast<const value::Vector*>(o);
    out.varint(v->length);
    for (std::uint64_t i = 0; i < v->length; ++i) value(v->items()[i]);
    break;
  }
  case Kind::closure_block:
    block(const_cast<ClosureBlock*>(static_cast<const ClosureBlock*>(o)));
    break;
  case Kind::string:
  case Kind::symbol: {
    std::string_view text = static_cast<const value::Text*>(o)->view();
    out.varint(text.size());
    out.raw(text.data(), text.size());
    break;
  }
  case Kind::bundle:
    out.varint(static_cast<const value::Bundle*>(o)->tag);
    value(static_cast<const value::Bundle*>(o)->primal);
    value(static_cast<const value::Bundle*>(o)->tangent);
    break;
  case Kind::frame: {
    const auto* f = static_cast<const Frame*>(o);
    code(f->code);
    out.varint(f->pc());
    std::uint64_t waits_for = f->result() == bytecode::kNoRegister ? 0 : 1u + f->result();
    out.varint(waits_for * 2 + (f->lifted() ? 1 : 0));
    object(f->parent);
    value::for_each_live(f, [&](std::uint32_t slot) { value(f->slots()[slot]); });
    break;
  }
  case Kind::capsule: {
    const auto* c = static_cast<const Capsule*>(static_cast<const NativeObject*>(o)->native);
    runs(c->runs);
    flag(c->finished);
    value(c->value);
    out.varint(c->steps);
    out.varint(c->serial);
    break;
  }
  case Kind::tensor:
    tensor(static_cast<const value::TensorObject*>(o)->tensor);
    out.u8(o->flags);
    break;
  case Kind::state:
    write_state(*this, *static_cast<const RunState*>(static_cast<const NativeObject*>(o)->native));
    break;
  }
}

void ImageWriter::drain() {
  while (!stack_.empty()) {
    const Object* o = stack_.back();
    stack_.pop_back();
    body(o);
  }
}

Image::Image(const Engine& engine)
    : engine_(engine), statistics_(engine.statistics_now()), module_(bytecode::write_module(engine.loaded.module)),
      charged_(engine.accounts(), engine.accounts().scratch, static_cast<std::int64_t>(module_.size())) {
  engine.files.keep_unfinished();
  ImageWriter w(engine, nullptr, nullptr);
  write_behind_checksum(w);
  objects_ = w.objects();
  bytes_ = kChecksummedFrom + w.out.size();
}

void Image::write_behind_checksum(ImageWriter& w) const {
  const Engine& e = engine_;
  w.out.text(build_identity());
  w.out.u64(module_.size());
  w.out.raw(module_.data(), module_.size());
  w.out.u64(static_cast<std::uint64_t>(e.state_budget));
  w.out.u8(e.budget_asked ? 1 : 0);
  w.out.u64(static_cast<std::uint64_t>(e.state_spill));
  w.out.u8(e.spill_refused ? 1 : 0);
  w.out.u8(e.spill_used ? 1 : 0);
  w.out.u32(static_cast<std::uint32_t>(e.device_budgets.size()));
  for (const auto& [name, bytes] : e.device_budgets) {
    w.out.text(name);
    w.out.u64(static_cast<std::uint64_t>(bytes));
  }
  schedule::CostTable::each(e.costs, [&](std::string_view, double rate) { w.out.u64(std::bit_cast<std::uint64_t>(rate)); });
  w.out.u64(e.clock);
  w.out.u64(e.next_serial_now());
  w.out.u64(e.effects.counters.drawn);
  w.out.u64(e.options.seed);
  w.out.u64(e.next_tag);
  w.out.u64(e.meter().work());
  w.out.u64(e.effects.counters.done);
  w.out.u64(e.effects.counters.reports);
  w.out.u64(e.effects.counters.output_bytes);
  w.out.u64(e.effects.counters.file_bytes);
  w.out.u64(e.effects.counters.input_bytes);
  w.flag(e.effects.counters.input_ended);
  w.out.text(e.effects.input_left());
  w.out.u32(static_cast<std::uint32_t>(e.files.seen().size()));
  for (const auto& [path, seen] : e.files.seen()) {
    w.out.text(path);
    w.out.u64(seen.size);
    w.out.u8(static_cast<std::uint8_t>(seen.written));
    w.out.u32(static_cast<std::uint32_t>(seen.blocks.size()));
    for (const auto& [block, sums] : seen.blocks) {
      w.out.u64(block);
      w.out.u16(sums.known);
      for (std::uint64_t page = 0; page < machine::Files::kPages; ++page)
        if ((sums.known >> page & 1) != 0) w.out.u64(sums.sums[page]);
    }
  }
  w.out.u32(static_cast<std::uint32_t>(e.options.arguments.size()));
  for (const std::string& a : e.options.arguments) w.out.text(a);
  w.out.u32(static_cast<std::uint32_t>(e.schedules.size()));
  for (const schedule::Spec& s : e.schedules) w.out.text(schedule::to_string(s));
  w.out.u32(static_cast<std::uint32_t>(e.lossy_policies.size()));
  for (const machine::LossyPolicy& p : e.lossy_policies) w.out.text(to_string(p));
  for (std::uint64_t v : {statistics_.gradient_steps, statistics_.gradient_steps_executed, statistics_.tape_peak_records,
                          statistics_.capsules_taken})
    w.out.u64(v);
  for (std::int64_t v :
       {statistics_.heap_peak_bytes, statistics_.tape_peak_bytes, statistics_.capsules_peak, statistics_.capsule_peak_bytes,
        statistics_.tensor_peak_bytes, statistics_.encoded_bytes, statistics_.encoding_bytes})
    w.out.u64(static_cast<std::uint64_t>(v));
  w.out.u64(std::bit_cast<std::uint64_t>(statistics_.largest_bound));
  w.out.text(statistics_.schedule);
  w.out.u32(static_cast<std::uint32_t>(e.repeats.words()));
  e.repeats.each_word([&](std::uint64_t word) { w.out.u64(word); });
  w.out.u64(objects_);
  w.number(e.globals.size());
  for (Value v : e.globals) w.value(v);
  w.number(e.runs.size());
  for (std::size_t i = 0; i < e.runs.size(); ++i) {
    Run r = e.runs[i];
    r.deadline = r.deadline == kNever ? kNever : r.deadline - e.clock;
    r.start = e.clock - r.start;
    w.run(r);
  }
  w.drain();
  w.out.flush();
}

void Image::write(ImageSink& sink) const {
  std::byte head[kChecksummedFrom] = {};
  std::uint64_t checksum = 0;
  auto set = [&head](std::size_t at, auto number) { std::memcpy(head + at, &number, sizeof number); };
  set(0, kImageMagic);
  set(8, kImageVersion);
  if (!sink.can_patch()) checksum = pass_over(nullptr);
  set(kChecksumAt, checksum);
  sink.put(head);
  checksum = pass_over(&sink);
  set(kChecksumAt, checksum);
  if (sink.can_patch()) sink.patch(kChecksumAt, std::span(head).subspan(kChecksumAt));
}

// The checksum.
std::uint64_t Image::pass_over(ImageSink* sink) const {
  ImageChecksum checksum;
  ImageWriter w(engine_, sink, &checksum);
  write_behind_checksum(w);
  return checksum.value();
}

void BlockSink::patch(std::uint64_t at, std::span<const std::byte> bytes) {
  std::memcpy(block_.subspan(at, bytes.size()).data(), bytes.data(), bytes.size());
}

std::vector<std::byte> write_image(const Engine& engine) {
  const Image image(engine);
  const value::Charged charged(engine.accounts(), engine.accounts().scratch, static_cast<std::int64_t>(image.bytes()));
  std::vector<std::byte> bytes(image.bytes());
  BlockSink sink(bytes);
  image.write(sink);
  return bytes;
}

} // namespace cairn::image
