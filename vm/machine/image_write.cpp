// Writing the state of a machine.
#include "vm/bytecode/file.h"
#include "vm/machine/image.h"
#include "vm/machine/image_header.h"

namespace cairn::machine {

ImageWriter::ImageWriter(const Engine& engine) : engine_(engine) {
  const LoadedModule& m = engine.loaded;
  for (std::size_t i = 0; i < m.constants.size(); ++i)
    if (m.constants[i].is_object()) constants_.emplace(value::object_of(m.constants[i]), static_cast<std::uint32_t>(i));
  for (std::size_t i = 0; i < m.procedures.size(); ++i)
    if (m.procedures[i].is_object())
      constants_.emplace(value::object_of(m.procedures[i]), static_cast<std::uint32_t>(m.constants.size() + i));
}

// Objects of the module are numbered down from the top: they are there before anything is read.
std::uint32_t ImageWriter::number(const Object* o) {
  if (auto c = constants_.find(o); c != constants_.end()) return kFirstConstant + c->second;
  auto [it, fresh] = numbers_.emplace(o, count_);
  if (fresh) {
    ++count_;
    queue_.push_back(o);
  }
  return it->second;
}

void ImageWriter::object(const Object* o) { out.u32(o == nullptr ? kNoObject : number(o)); }

void ImageWriter::value(Value v) {
  if (!v.is_object()) {
    out.u64(v.bits);
    return;
  }
  const Object* o = value::object_of(v);
  std::uint64_t entry = 0;
  if (v.is_procedure()) entry = (v.procedure()->offset - sizeof(Block)) / sizeof(Procedure);
  out.u64(v.tag() << value::kTagShift | entry << 32 | number(o));
}

void ImageWriter::code(const Code* c) {
  if (c->module != nullptr) {
    out.u32(c->index);
    return;
  }
  std::uint32_t n = 0;
  while (own_code_at(n) != c) ++n;
  out.u32(kFirstOwnCode + n);
}

void ImageWriter::run(const Run& r) {
  object(r.top);
  out.u8(static_cast<std::uint8_t>(r.kind));
  out.u64(r.deadline);
  out.u64(r.start);
  out.u64(r.epoch);
  object(r.state);
  out.u32(r.own_schedule);
}

void ImageWriter::runs(const std::vector<Run>& list) {
  out.u32(static_cast<std::uint32_t>(list.size()));
  for (const Run& r : list) run(r);
}

void ImageWriter::log(const EffectLog& log) {
  out.u64(log.position);
  out.u64(log.happened);
  flag(log.silent);
  out.u32(static_cast<std::uint32_t>(log.inputs.size()));
  for (Value v : log.inputs) out.u64(v.bits);
}

void ImageWriter::tape(const Tape* t) {
  flag(t != nullptr);
  if (t == nullptr) return;
  out.u16(t->id());
  out.u64(t->low());
  out.u64(t->start());
  t->write_records([&](const tape::Record& r) { out.raw(&r, sizeof r); }, [&](const void* data, std::size_t size) { out.raw(data, size); });
  out.u32(static_cast<std::uint32_t>(t->inputs.size()));
  t->inputs.for_each([&](tape::Place p, const tape::Input& i) {
    place(p);
    out.u32(i.node);
    out.u64(i.original.bits);
  });
  out.u32(static_cast<std::uint32_t>(t->composites.size()));
  for (const tape::Composite& c : t->composites) {
    out.u32(c.node);
    out.u64(c.serial);
    value(c.f);
    value(c.x);
    value(c.cotangent);
  }
  out.u32(static_cast<std::uint32_t>(t->outputs.size()));
  for (const tape::Output& o : t->outputs) output(o);
}

void ImageWriter::output(const tape::Output& o) {
  out.u64(o.serial);
  value(o.skeleton);
  out.u32(static_cast<std::uint32_t>(o.effects.size()));
  for (Value v : o.effects) out.u64(v.bits);
}

void ImageWriter::body(const Object* o) {
  out.u8(static_cast<std::uint8_t>(o->kind));
  out.u64(o->serial);
  switch (o->kind) {
  case Kind::pair:
    value(static_cast<const value::Pair*>(o)->car);
    value(static_cast<const value::Pair*>(o)->cdr);
    break;
  case Kind::vector: {
    const auto* v = static_cast<const value::Vector*>(o);
    out.u64(v->length);
    for (std::uint64_t i = 0; i < v->length; ++i) value(v->items()[i]);
    break;
  }
  case Kind::block: {
    auto* b = const_cast<Block*>(static_cast<const Block*>(o));
    out.u32(b->procedures);
    out.u32(b->captures);
    for (std::uint32_t i = 0; i < b->procedures; ++i) code(b->procedure(i)->code);
    for (std::uint32_t i = 0; i < b->captures; ++i) value(b->captured()[i]);
    break;
  }
  case Kind::string:
  case Kind::symbol: out.text(static_cast<const value::Text*>(o)->view()); break;
  case Kind::bundle:
    out.u64(static_cast<const value::Bundle*>(o)->tag);
    value(static_cast<const value::Bundle*>(o)->primal);
    value(static_cast<const value::Bundle*>(o)->tangent);
    break;
  case Kind::frame: {
    const auto* f = static_cast<const Frame*>(o);
    code(f->code);
    out.u32(f->pc());
    out.u16(f->result());
    out.u16(f->lifted() ? 1 : 0);
    object(f->parent);
    value::for_each_live(f, [&](std::uint32_t slot) { value(f->slots()[slot]); });
    break;
  }
  case Kind::capsule: {
    const auto* c = static_cast<const Capsule*>(static_cast<const NativeObject*>(o)->native);
    runs(c->runs);
    flag(c->finished);
    value(c->value);
    out.u64(c->steps);
    out.u64(c->serial);
    out.u64(c->random);
    break;
  }
  case Kind::state: write_state(*this, *static_cast<const RunState*>(static_cast<const NativeObject*>(o)->native)); break;
  }
}

void ImageWriter::drain() {
  while (!queue_.empty()) {
    const Object* o = queue_.front();
    queue_.pop_front();
    body(o);
  }
}

std::vector<std::byte> write_image(const Engine& e) {
  ImageWriter w(e);
  w.out.u64(kImageMagic);
  w.out.u32(kImageVersion);
  w.out.u32(0);
  w.out.u64(0);  // checksum
  w.out.text(build_identity());
  std::vector<std::byte> module = bytecode::write_module(e.loaded.module);
  w.out.u64(module.size());
  w.out.raw(module.data(), module.size());
  w.out.u64(static_cast<std::uint64_t>(e.state_budget));
  w.out.u64(e.clock);
  w.out.u64(e.next_serial_now());
  w.out.u64(e.random_counter);
  w.out.u64(e.options.seed);
  w.out.u64(e.next_tag);
  w.out.u64(e.output_length);
  w.flag(e.input_ended);
  w.out.text(std::string_view(e.pending_input).substr(e.pending_at));
  w.out.u32(static_cast<std::uint32_t>(e.options.arguments.size()));
  for (const std::string& a : e.options.arguments) w.out.text(a);
  w.out.u32(static_cast<std::uint32_t>(e.schedules.size()));
  for (const schedule::Spec& s : e.schedules) w.out.text(schedule::to_string(s));
  const Statistics s = e.statistics_now();
  for (std::uint64_t v : {s.gradient_steps, s.gradient_steps_executed, s.tape_peak_records, s.capsules_taken}) w.out.u64(v);
  for (std::int64_t v : {s.heap_peak_bytes, s.tape_peak_bytes, s.capsules_peak, s.capsule_peak_bytes})
    w.out.u64(static_cast<std::uint64_t>(v));
  w.out.text(s.schedule);
  w.out.u32(static_cast<std::uint32_t>(e.globals.size()));
  for (Value v : e.globals) w.value(v);
  std::vector<Run> runs = e.runs;
  for (Run& r : runs) {
    if (r.deadline != kNever) r.deadline -= e.clock;
    r.start = e.clock - r.start;
  }
  runs[0].deadline = kNever;
  w.runs(runs);
  std::size_t at = w.out.bytes.size();
  w.out.u32(0);
  w.drain();
  for (unsigned i = 0; i < 4; ++i) w.out.bytes[at + i] = static_cast<std::byte>(w.objects() >> 8 * i);
  w.out.set_u64(kChecksumAt, image_checksum(w.out.bytes));
  return std::move(w.out.bytes);
}

} // namespace cairn::machine
