// Reading the state of a machine. Nothing in the file is trusted: every number is checked before it is used, frames against the facts that
// the verifier proved of their code.
#include "vm/bytecode/file.h"
#include "vm/machine/image.h"
#include "vm/machine/image_header.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <cmath>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cairn::machine {

std::string build_identity() {
  std::string id = __VERSION__;
  for (auto [name, present] : {std::pair{"avx2", __builtin_cpu_supports("avx2")}, std::pair{"fma", __builtin_cpu_supports("fma")},
                               std::pair{"avx512f", __builtin_cpu_supports("avx512f")}})
    if (present != 0) id += std::string(" ") + name;
  return id;
}

std::uint64_t image_checksum(std::span<const std::byte> file) {
  return XXH3_64bits(file.data() + kChecksummedFrom, file.size() - kChecksummedFrom);
}

ImageReader::ImageReader(Engine& e, bytecode::ByteReader& r) : engine(e), in(r) {}

bool ImageReader::flag() {
  std::uint8_t b = in.u8();
  if (b > 1) throw Malformed("a flag is neither 0 nor 1");
  return b == 1;
}

void ImageReader::value(Value& slot) {
  std::uint64_t bits = in.u64();
  slot = value::kUnspecified;
  if (Value{bits}.is_object()) {
    values_.push_back({bits, &slot});
    return;
  }
  Value v{bits};
  if (v.is_flonum() && std::isnan(v.flonum())) v = value::flonum(v.flonum());
  bool known = v.tag() != value::kImmediateTag || v.bits <= value::kUndefined.bits ||
               (value::is_character(v) && value::code_point(v) <= 0x10FFFF && (v.bits & value::kPayloadMask) >> 33 == 0);
  if (!known) throw Malformed("a value of no known kind");
  if (v.is_taped()) taped_.push_back(v);
  slot = v;
}

void ImageReader::run(Run& r) {
  object(r.top, Kind::frame);
  std::uint8_t kind = in.u8();
  if (kind > static_cast<std::uint8_t>(RunKind::interval)) throw Malformed("a run of no known kind");
  r.kind = static_cast<RunKind>(kind);
  r.deadline = in.u64();
  r.start = in.u64();
  r.epoch = in.u64();
  object(r.state, Kind::state);
  r.own_schedule = in.u32();
  if (r.own_schedule != kInheritSchedule && r.own_schedule >= engine.schedules.size()) throw Malformed("a run under no known schedule");
}

void ImageReader::runs(std::vector<Run>& list) {
  list.resize(in.count(37));
  for (Run& r : list) run(r);
  stacks_.push_back(&list);
}

void ImageReader::log(EffectLog& log) {
  log.position = in.u64();
  log.happened = in.u64();
  log.silent = flag();
  log.inputs.resize(in.count(8));
  for (Value& v : log.inputs) {
    v = Value{in.u64()};
    if (!v.is_flonum() && !v.is_integer() && v != value::kUnspecified) throw Malformed("an input that is no number");
  }
  if (log.position > log.happened || log.happened != log.inputs.size()) throw Malformed("a log of effects does not add up");
  engine.heap().charge(engine.heap().tape, log.bytes());
}

Tape* ImageReader::tape() {
  if (!flag()) return nullptr;
  std::uint16_t id = in.u16();
  std::uint64_t low = in.u64(), start = in.u64();
  if (low > start) throw Malformed("a tape begins before its world");
  auto* t = new Tape(engine.heap(), id, low, start);
  engine.adopt_tape(t);
  t->read_records([&](std::size_t size) { return in.take(size).data(); }, [](bool ok) {
    if (!ok) throw Malformed("a tape refers to records that are not there");
  });
  for (std::uint32_t n = in.count(24); n > 0; --n) {
    tape::Place p = place();
    tape::Input i{in.u32(), Value{in.u64()}};
    if (i.node >= t->size() || i.original.is_object()) throw Malformed("an input of a tape is not on it");
    t->inputs.set(p, i);
  }
  t->account_maps();
  std::uint32_t& size = tape_sizes_[id];
  size = std::max(size, t->size());
  t->composites.resize(in.count(36));
  for (tape::Composite& c : t->composites) {
    c.node = in.u32();
    c.serial = in.u64();
    value(c.f);
    value(c.x);
    value(c.cotangent);
    if (c.node > t->size()) throw Malformed("a composite beyond its tape");
  }
  t->outputs.resize(in.count(20));
  for (tape::Output& o : t->outputs) output(o);
  return t;
}

void ImageReader::output(tape::Output& o) {
  o.serial = in.u64();
  value(o.skeleton);
  o.effects.resize(in.count(8));
  for (Value& v : o.effects) {
    v = Value{in.u64()};
    if (v.is_object()) throw Malformed("an input that is no number");
  }
}

const Code* ImageReader::code() {
  std::uint32_t n = in.u32();
  const Code* c = nullptr;
  if (n < kFirstOwnCode) c = n < engine.loaded.codes.size() ? engine.loaded.codes[n].get() : nullptr;
  else c = own_code_at(n - kFirstOwnCode);
  if (c == nullptr) throw Malformed("code that is not there");
  return c;
}

bool ImageReader::starts_instruction(const Code* c, std::uint32_t pc) {
  auto& starts = starts_[c];
  if (starts.empty()) {
    std::size_t size = c->module != nullptr ? engine.loaded.module.functions[c->index].code.size() : own_code_size(c);
    starts.resize(size);
    for (std::size_t i = 0; i < size; i += bytecode::words_of(c->words()[i])) starts[i] = true;
  }
  return pc < starts.size() && starts[pc];
}

Object* ImageReader::body() {
  value::Heap& heap = engine.heap();
  std::uint8_t kind = in.u8();
  std::uint64_t serial = in.u64();
  Object* made = nullptr;
  if (kind > static_cast<std::uint8_t>(Kind::frame)) throw Malformed("an object of no known kind");
  switch (static_cast<Kind>(kind)) {
  case Kind::pair: {
    value::Pair* p = heap.cons(value::kUnspecified, value::kUnspecified).pair();
    value(p->car);
    value(p->cdr);
    made = p;
    break;
  }
  case Kind::vector: {
    std::uint64_t length = in.u64();
    if (length > in.left() / 8) throw Malformed("a vector longer than the file");
    value::Vector* v = heap.make_vector(length);
    for (std::uint64_t i = 0; i < length; ++i) value(v->items()[i]);
    made = v;
    break;
  }
  case Kind::block: {
    std::uint32_t procedures = in.count(4), captures = in.count(8);
    if (procedures == 0) throw Malformed("a closure block without procedures");
    Block* b = heap.make_block(procedures, captures);
    for (std::uint32_t i = 0; i < procedures; ++i) b->procedure(i)->code = code();
    for (std::uint32_t i = 0; i < captures; ++i) value(b->captured()[i]);
    made = b;
    break;
  }
  case Kind::string:
  case Kind::symbol: {
    std::string t = in.text();
    if (!text::is_utf8(t)) throw Malformed("a text that is not UTF-8");
    made = (static_cast<Kind>(kind) == Kind::string ? heap.make_string(t) : heap.make_symbol(t)).other();
    break;
  }
  case Kind::bundle: {
    auto* b = value::as_bundle(heap.make_bundle(in.u64(), value::kUnspecified, value::kUnspecified));
    value(b->primal);
    value(b->tangent);
    made = b;
    break;
  }
  case Kind::frame: {
    const Code* c = code();
    std::uint32_t pc = in.u32();
    std::uint16_t result = in.u16(), lifted = in.u16();
    if (!starts_instruction(c, pc)) throw Malformed("a frame stands inside an instruction");
    if (result != bytecode::kNoRegister &&
        (result >= c->slots || (c->live[std::size_t{pc} * c->mask_words + result / 64] >> result % 64 & 1) == 0))
      throw Malformed("a frame waits for a value it has no place for");
    Frame* f = heap.make_frame(c);
    f->rest_at(c->words() + pc, result);
    f->set_lifted(lifted != 0);
    object(f->parent, Kind::frame);
    value::for_each_live(f, [&](std::uint32_t slot) { value(f->slots()[slot]); });
    made = f;
    break;
  }
  case Kind::capsule: {
    auto* c = new Capsule;
    made = heap.make_native(Kind::capsule, c);
    runs(c->runs);
    c->finished = flag();
    value(c->value);
    c->steps = in.u64();
    c->serial = in.u64();
    c->random = in.u64();
    heap.capsule_count += 1;
    if (!c->finished && c->runs.empty()) throw Malformed("a capsule without a computation");
    break;
  }
  case Kind::state: made = heap.make_native(Kind::state, read_state(*this)); break;
  }
  if (static_cast<Kind>(kind) != Kind::symbol) made->serial = serial;
  return made;
}

// Objects are made with one reference of their own, which the reader gives up in the end.
void ImageReader::read_objects(std::uint32_t count) {
  if (count > in.left() / 9) throw Malformed("more objects than the file can hold");
  made_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) made_.push_back(body());
}

Object* ImageReader::find(std::uint32_t number) const {
  if (number < made_.size()) return made_[number];
  std::size_t constant = number - kFirstConstant;
  const LoadedModule& m = engine.loaded;
  Value v = value::kUnspecified;
  if (number >= kFirstConstant && constant < m.constants.size()) v = m.constants[constant];
  else if (number >= kFirstConstant && constant - m.constants.size() < m.procedures.size())
    v = m.procedures[constant - m.constants.size()];
  if (!v.is_object()) throw Malformed("a reference to nothing");
  return value::object_of(v);
}

void ImageReader::finish() {
  for (const ObjectSlot& s : objects_) {
    if (s.number == kNoObject) continue;
    Object* o = find(s.number);
    if (o->kind != s.kind) throw Malformed("a reference to an object of another kind");
    Heap::retain(o);
    *s.to = o;
  }
  for (const ValueSlot& s : values_) {
    Object* o = find(static_cast<std::uint32_t>(s.bits));
    std::uint64_t tag = s.bits >> value::kTagShift, entry = s.bits >> 32 & 0xFFFF;
    bool fits = tag == value::kPairTag ? o->kind == Kind::pair
                : tag == value::kProcedureTag
                    ? o->kind == Kind::block && entry < static_cast<Block*>(o)->procedures
                    : o->kind != Kind::pair && o->kind != Kind::block && o->kind != Kind::frame;
    if (!fits) throw Malformed("a reference to an object of another kind");
    Heap::retain(o);
    if (tag == value::kPairTag) *s.to = value::of_pair(static_cast<value::Pair*>(o));
    else if (tag == value::kProcedureTag) *s.to = value::of_procedure(static_cast<Block*>(o)->procedure(static_cast<std::uint32_t>(entry)));
    else *s.to = value::of_other(o);
  }
  // Whoever is returned to must wait for a value in some register; only the frame on top of a stack of runs does not.
  for (const Object* o : made_)
    if (o->kind == Kind::frame)
      if (const Frame* parent = static_cast<const Frame*>(o)->parent; parent != nullptr && parent->result() == bytecode::kNoRegister)
        throw Malformed("a frame that nothing can be returned to");
  for (const std::vector<Run>* stack : stacks_)
    for (const Run& r : *stack)
      if (r.top == nullptr || (r.top->result() == bytecode::kNoRegister) != (&r == &stack->back()))
        throw Malformed("a run whose frame does not wait for the one above it");
  for (Value v : taped_) {
    auto t = tape_sizes_.find(v.tape_id());
    if (t == tape_sizes_.end() || v.tape_node() >= t->second) throw Malformed("a number on a tape that is not there");
  }
}

ImageReader::~ImageReader() {
  for (Object* o : made_) engine.heap().release(o);
}

namespace {

void read_everything(Engine& e, bytecode::ByteReader& in, std::string& warning) {
  if (in.text() != build_identity()) warning = "the capsule was written by another build or on another processor: last digits may differ";
  std::uint64_t size = in.u64();
  bytecode::Module module;
  std::string message;
  if (!bytecode::read_module(in.take(size), module, message)) throw Malformed("its module: " + message);
  if (!e.load_only(std::move(module), message)) throw Malformed("its module: " + message);
  e.state_budget = static_cast<std::int64_t>(in.u64());
  e.clock = in.u64();
  std::uint64_t serial = in.u64();
  e.random_counter = in.u64();
  e.options.seed = in.u64();
  e.next_tag = in.u64();
  e.output_length = in.u64();
  std::uint8_t ended = in.u8();
  e.input_ended = ended != 0;
  e.pending_input = in.text();
  e.options.arguments.resize(in.count(4));
  for (std::string& a : e.options.arguments) a = in.text();
  e.schedules.resize(in.count(4));
  for (schedule::Spec& s : e.schedules)
    if (!schedule::parse(in.text(), s, message)) throw Malformed("a schedule: " + message);
  if (e.schedules.empty()) throw Malformed("no schedule");
  Statistics& s = e.statistics;
  for (std::uint64_t* v : {&s.gradient_steps, &s.gradient_steps_executed, &s.tape_peak_records, &s.capsules_taken}) *v = in.u64();
  for (std::int64_t* v : {&s.heap_peak_bytes, &s.tape_peak_bytes, &s.capsules_peak, &s.capsule_peak_bytes})
    *v = static_cast<std::int64_t>(in.u64());
  s.schedule = in.text();
  ImageReader r(e, in);
  if (in.u32() != e.globals.size()) throw Malformed("its globals are not those of its module");
  for (Value& v : e.globals) r.value(v);
  r.runs(e.runs);
  if (e.runs.empty() || e.runs[0].kind != RunKind::base) throw Malformed("a machine without a program");
  r.read_objects(in.u32());
  in.want_end();
  r.finish();
  for (Run& run : e.runs) {
    if (run.top == nullptr) throw Malformed("a run without a frame");
    bool reverse = run.kind == RunKind::reverse || run.kind == RunKind::interval;
    if (reverse != (run.state != nullptr)) throw Malformed("a run without its state");
    run.deadline = run.deadline > kNever - e.clock ? kNever : run.deadline + e.clock;
    run.start = run.start > e.clock ? 0 : e.clock - run.start;
  }
  if (e.runs.back().top->result() != bytecode::kNoRegister) throw Malformed("the top of the machine waits for nothing");
  e.heap().next_serial = serial;
}

} // namespace

namespace {

// Behind the header.
void check_header(bytecode::ByteReader& in, std::span<const std::byte> bytes) {
  if (bytes.size() < kChecksummedFrom || in.u64() != kImageMagic) throw Malformed("this is no capsule file");
  if (in.u32() != kImageVersion) throw Malformed("a capsule file of another version of Cairn");
  in.u32();
  if (in.u64() != image_checksum(bytes)) throw Malformed("the capsule file is damaged: its checksum does not fit");
}

} // namespace

bool is_whole_image(std::span<const std::byte> bytes, std::string& error) {
  try {
    bytecode::ByteReader in(bytes);
    check_header(in, bytes);
    return true;
  } catch (const Malformed& e) {
    error = e.what();
    return false;
  }
}

bool belongs_to(std::span<const std::byte> bytes, std::span<const std::byte> module) {
  try {
    bytecode::ByteReader in(bytes);
    check_header(in, bytes);
    in.text();
    return std::ranges::equal(in.take(in.u64()), module);
  } catch (const Malformed&) {
    return true;
  }
}

bool read_image(Engine& engine, std::span<const std::byte> bytes, std::string& error) {
  try {
    bytecode::ByteReader in(bytes);
    check_header(in, bytes);
    std::string warning;
    read_everything(engine, in, warning);
    error = warning;
    return true;
  } catch (const Malformed& e) {
    error = e.what();
  } catch (const value::BudgetExceeded& e) {
    error = e.what();
  }
  engine.abandon();
  return false;
}

} // namespace cairn::machine
