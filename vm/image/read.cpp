// Reading the state of a machine. Nothing in the file is trusted: every number is checked before it is used, frames against the
// facts that the verifier proved of their code; what can be known only in the end is checked in check.cpp.
#include "vm/image/header.h"
#include "vm/image/image.h"
#include "vm/runs/operators.h"
#include "vm/text/utf8.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace cairn::image {

ImageReader::ImageReader(Engine& e, bytecode::ByteReader& r)
    : engine(e), in(r), storages_(e.heap()), made_(e.heap()), read_(e.heap()), waiting_(e.heap()), others_(e.heap()),
      frames_(e.heap()), bundles_(e.heap()), stacks_(e.heap()), tape_sizes_(e.heap()), taped_(e.heap()) {}

bool ImageReader::flag() {
  std::uint8_t b = in.u8();
  if (b > 1) throw Malformed("a flag is neither 0 nor 1");
  return b == 1;
}

std::uint64_t ImageReader::count(std::uint64_t most) {
  std::uint64_t n = in.varint();
  if (n > most) throw Malformed("a number is larger than it can be");
  return n;
}

std::uint32_t ImageReader::number32() { return static_cast<std::uint32_t>(count(UINT32_MAX)); }

std::uint32_t ImageReader::size(std::size_t least_bytes) {
  std::uint64_t n = in.varint();
  if (n > in.left() / least_bytes || n > UINT32_MAX) throw Malformed("a part of the file is too short for what it says it holds");
  return static_cast<std::uint32_t>(n);
}

std::string ImageReader::text() {
  auto part = in.take(size(1));
  std::string t(reinterpret_cast<const char*>(part.data()), part.size());
  if (!text::is_utf8(t)) throw Malformed("a text that is not UTF-8");
  return t;
}

// --- references

namespace {

// Fresh memory in small pages takes longer than reading what goes there.
template <class T> void reserve(value::ChargedVector<T>& list, std::size_t elements) {
  constexpr std::uintptr_t kLarge = std::uintptr_t{2} << 20;
  list.reserve(elements);
  auto begin = reinterpret_cast<std::uintptr_t>(list.data());
  std::uintptr_t from = (begin + kLarge - 1) / kLarge * kLarge, to = (begin + elements * sizeof(T)) / kLarge * kLarge;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE); // only advice
}

} // namespace

void ImageReader::refer(Reference r, std::uint64_t distance) {
  if (distance == 0) {
    r.number = next_number();
    waiting_.push_back(r);
    return;
  }
  if (distance > made_.size()) throw Malformed("a reference to nothing");
  r.number = static_cast<std::uint32_t>(made_.size() - distance);
  back_ = back_ || made_[r.number] != nullptr;
  others_.push_back({r, static_cast<std::uint32_t>(read_.size())});
}

void ImageReader::object_at(Object** slot, Kind kind, Into into) {
  std::uint64_t n = in.varint();
  if (n != 0) refer({slot, 0, 0, into, kind}, n - 1);
}

void ImageReader::fill(const Reference& r, Object* o) {
  bool fits = false;
  // That of a streamed run is nobody's but the run's.
  const auto is_streamed = [&] {
    return o->kind == Kind::state && is_streamed_state(*static_cast<RunState*>(static_cast<value::NativeObject*>(o)->native));
  };
  switch (r.into) {
  case Into::pair:
    fits = o->kind == Kind::pair;
    break;
  case Into::procedure:
    fits = o->kind == Kind::closure_block && r.entry < static_cast<ClosureBlock*>(o)->procedures;
    break;
  case Into::object:
    fits = o->kind == r.kind && !is_streamed();
    break;
  case Into::run_state:
    fits = o->kind == Kind::state;
    break;
  case Into::other:
    fits = o->kind != Kind::pair && o->kind != Kind::closure_block && o->kind != Kind::frame &&
           (o->kind != Kind::state || (r.kind == Kind::state && !is_streamed()));
  }
  if (!fits) {
    engine.heap().release(o);
    throw Malformed("a reference to an object of another kind");
  }
  switch (r.into) {
  case Into::pair:
    *static_cast<Value*>(r.to) = value::of_pair(static_cast<value::Pair*>(o));
    break;
  case Into::procedure:
    *static_cast<Value*>(r.to) = value::of_procedure(static_cast<ClosureBlock*>(o)->procedure(r.entry));
    break;
  case Into::other:
    *static_cast<Value*>(r.to) = value::of_other(o);
    break;
  case Into::object:
  case Into::run_state:
    *static_cast<Object**>(r.to) = o;
    break;
  }
}

void ImageReader::constant(const Reference& r, std::uint64_t index) {
  const LoadedModule& m = engine.loaded;
  Value v = value::kUnspecified;
  if (index < m.constants.size())
    v = m.constants[index];
  else if (index - m.constants.size() < m.procedures.size())
    v = m.procedures[index - m.constants.size()];
  if (!v.is_object()) throw Malformed("a reference to nothing");
  Heap::retain(v);
  fill(r, value::object_of(v));
}

namespace {

// There are two NaNs, of either sign.
bool is_canonical(Value flonum) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return !std::isnan(flonum.flonum()) || (flonum.bits & ~kSign) == value::flonum(flonum.flonum()).bits;
}

} // namespace

namespace {

Value integer_of(std::uint64_t payload) {
  std::int64_t i = bytecode::unzigzag(payload);
  if (!value::fits_integer(i)) throw Malformed("an exact integer does not fit into 48 bits");
  return value::integer_unchecked(i);
}

} // namespace

Value ImageReader::plain() { return plain_of(in.varint()); }

Value ImageReader::plain_of(std::uint64_t word) {
  std::uint64_t payload = word >> kImageTagBits;
  Value v{};
  switch (static_cast<ImageTag>(word & ((1u << kImageTagBits) - 1))) {
  case ImageTag::integer:
    return integer_of(payload);
  case ImageTag::flonum:
    v.bits = in.u64();
    if (payload != 0 || !v.is_flonum() || !is_canonical(v)) throw Malformed("a flonum of no known form");
    return v;
  case ImageTag::immediate:
    v.bits = value::kImmediateTag << value::kTagShift | payload;
    if (payload > (value::kUndefined.bits & value::kPayloadMask) &&
        (payload >> 32 != 1 || !text::is_code_point(static_cast<std::int64_t>(payload & 0xFFFFFFFF))))
      throw Malformed("a value of no known kind");
    return v;
  case ImageTag::taped:
    if (payload > value::kPayloadMask) throw Malformed("a value of no known kind");
    v.bits = value::kTapedTag << value::kTagShift | payload;
    taped_.push_back(v);
    return v;
  default:
    throw Malformed("a reference where none can be");
  }
}

void ImageReader::value(Value& slot) {
  std::uint64_t word = in.varint();
  if ((word & ((1u << kImageTagBits) - 1)) == static_cast<unsigned>(ImageTag::integer))
    slot = integer_of(word >> kImageTagBits); // the most frequent, and quick
  else
    value_of(word, slot);
}

void ImageReader::value_of(std::uint64_t word, Value& slot) {
  std::uint64_t payload = word >> kImageTagBits;
  Reference r{&slot, 0, 0, Into::pair, Kind::pair};
  slot = value::kUnspecified; // while there is no more to it
  switch (static_cast<ImageTag>(word & ((1u << kImageTagBits) - 1))) {
  case ImageTag::pair:
    break;
  case ImageTag::procedure:
    r.into = Into::procedure;
    r.kind = Kind::closure_block;
    r.entry = static_cast<std::uint16_t>(count(0xFFFF));
    break;
  case ImageTag::other:
    r.into = Into::other;
    if (states_as_values_) r.kind = Kind::state;
    break;
  default:
    slot = plain_of(word);
    return;
  }
  if ((payload & 1) != 0)
    constant(r, payload >> 1);
  else
    refer(r, payload >> 1);
}

// --- what states are made of

void ImageReader::runs(std::vector<Run>& list, Stack stack) {
  constexpr std::size_t kLeastRun = 8;
  list.resize(size(kLeastRun));
  stacks_.push_back({&list, stack});
  for (Run& r : list) {
    object(r.top, Kind::frame);
    std::uint8_t kind = in.u8();
    if (kind > static_cast<std::uint8_t>(RunKind::streamed)) throw Malformed("a run of no known kind");
    r.kind = static_cast<RunKind>(kind);
    r.deadline = count(kMostStepsLeft + 1) - 1; // 0: never
    r.start = count();
    r.epoch = count();
    r.state = nullptr;
    object_at(reinterpret_cast<Object**>(&r.state), Kind::state, Into::run_state);
    const auto number = [&](std::size_t of) { // 0 is kInherit
      return static_cast<std::uint32_t>(count(of) - 1);
    };
    r.own_schedule = number(engine.schedules.size());
    r.own_lossy = number(engine.lossy_policies.size());
  }
}

void ImageReader::log(EffectLog& log) {
  log.position = count();
  log.silent = flag();
  std::uint32_t n = size(1);
  log.happened = n;
  for (std::uint32_t i = 0; i < n; ++i) log.inputs.push_back(effect());
  log.drawn = count();
  draws(log.draws);
  log.account(engine.heap());
  if (log.position > log.happened || log.drawn > log.draws.size()) throw Malformed("a log of effects does not add up");
}

void ImageReader::draws(tape::Draws& d) {
  std::uint64_t all = count(), next = 0;
  std::vector<tape::Draws::Range> ranges(size(2));
  for (tape::Draws::Range& s : ranges) {
    s = {count(), count()};
    if ((next == 0) != (s.first == 0) || s.first < next || s.first >= all) throw Malformed("random numbers do not add up");
    next = s.first + 1;
  }
  if (ranges.empty() != (all == 0)) throw Malformed("random numbers do not add up");
  d.restore(std::move(ranges), all);
}

Value ImageReader::effect() {
  Value v = plain();
  if (v.is_taped()) throw Malformed("an effect that is on a tape");
  return v;
}

void ImageReader::tape(Tape*& slot, bool may_be_swept) {
  if (!flag()) return;
  auto id = static_cast<std::uint16_t>(count(0xFFFF));
  std::uint64_t low = count(), start = count();
  if (low > start) throw Malformed("a tape begins before its world");
  auto made = std::make_unique<Tape>(engine.heap(), id, low, start);
  engine.tapes.adopt(made.get());
  Tape* t = slot = made.release();
  t->read_records(
      may_be_swept, [&](std::size_t size) { return in.take(size).data(); },
      [](bool ok) {
        if (!ok) throw Malformed("a tape refers to records that are not there");
      });
  std::uint64_t probes = 0;
  for (std::uint32_t n = size(4), i = 0; i < n; ++i) {
    tape::Place p = place();
    tape::Input input{number32(), plain()};
    if (input.node >= t->size()) throw Malformed("an input of a tape is not on it");
    t->inputs.set(p, input);
    check_probes(probes += t->inputs.probes(p), i);
  }
  t->account_maps();
  if (tape_sizes_.size() <= id) tape_sizes_.resize(id + std::size_t{1});
  tape_sizes_[id] = std::max(tape_sizes_[id], t->size());
  t->composites.resize(size(5));
  std::uint32_t node = 0;
  for (tape::Composite& c : t->composites) {
    c.node = number32();
    c.serial = count();
    value(c.f);
    value(c.x);
    value(c.cotangent);
    if (c.node < node || c.node > t->size()) throw Malformed("a composite beyond its tape");
    node = c.node;
  }
  t->outputs.resize(size(5));
  for (tape::Output& o : t->outputs) output(o);
  t->account_maps();
  tensor_records(*t);
  std::vector<tape::Place> places(size(2));
  for (tape::Place& p : places) p = place();
  std::vector<std::uint32_t> inputs(size(1));
  for (std::uint32_t& input : inputs) input = number32();
  if (!t->restore_constants(std::move(places), std::move(inputs))) throw Malformed("constants of a tape are not on it");
}

// Whoever chooses places so that they fall together must not make reading slow.
void ImageReader::check_probes(std::uint64_t probes, std::uint64_t places) {
  constexpr std::uint64_t kMany = 64;
  if (probes > kMany * (places + kMany)) throw Malformed("places that were chosen to be slow");
}

void ImageReader::output(tape::Output& o) {
  o.serial = count();
  value(o.skeleton);
  tape::EffectValues inputs;
  for (std::uint32_t n = size(1); n > 0; --n) inputs.push_back(effect());
  tape::Draws drawn;
  draws(drawn);
  o.effects = tape::past_effects(engine.heap(), std::move(inputs), std::move(drawn));
  o.cost = count();
  o.largest = count();
  o.sweeping = count();
}

const Code* ImageReader::code(std::uint32_t& pc) {
  std::uint64_t n = in.varint();
  pc = number32();
  const Code* c = nullptr;
  const bytecode::FunctionFacts* facts = nullptr;
  if ((n & 1) != 0) {
    runs::MachineCode machine = runs::machine_code(n >> 1);
    c = machine.code;
    facts = machine.facts;
  } else if (n >> 1 < engine.loaded.codes.size()) {
    c = engine.loaded.codes[n >> 1].get();
    facts = &engine.loaded.facts[n >> 1];
  }
  if (c == nullptr) throw Malformed("code that is not there");
  if (pc >= facts->reached.size() || !facts->reached[pc]) throw Malformed("a frame stands where control cannot come");
  return c;
}

// --- objects. Each is its slot's before its fields are read.

// A pair, and as long as the cdr is a pair met there for the first time, that one: it would be next.
void ImageReader::pairs(Reference& r, std::size_t& first_child) {
  constexpr std::uint64_t kFreshPair = static_cast<unsigned>(ImageTag::pair);
  value::Pair* p = engine.heap().cons(value::kUnspecified, value::kUnspecified).pair();
  own(r, p);
  for (;;) {
    value(p->car);
    std::uint64_t word = in.varint();
    if (word != kFreshPair) return value_of(word, p->cdr);
    read_.push_back({r.number, static_cast<std::uint32_t>(first_child)});
    r.number = next_number();
    first_child = made_.size();
    serial_ += static_cast<std::uint64_t>(bytecode::unzigzag(in.varint()));
    value::Pair* next = engine.heap().cons(value::kUnspecified, value::kUnspecified).pair();
    next->serial = serial_;
    made_[r.number] = next;
    p->cdr = value::of_pair(next);
    p = next;
  }
}

void ImageReader::vector(const Reference& r) {
  std::uint32_t length = size(1);
  value::Vector* v = engine.heap().make_vector(length);
  std::fill_n(v->items(), length, value::kUnspecified);
  own(r, v);
  for (std::uint32_t i = 0; i < length; ++i) value(v->items()[i]);
}

void ImageReader::block(const Reference& r) {
  std::uint64_t n = in.varint();
  const std::vector<bytecode::Group>& groups = engine.loaded.module.groups;
  ClosureBlock* b = nullptr;
  if ((n & 1) != 0) {
    runs::MachineCode machine = runs::machine_code(n >> 1);
    if (machine.captures == runs::MachineCode::kNoProcedure) throw Malformed("a closure block that there is not");
    b = engine.heap().make_closure_block(1, machine.captures);
    b->procedure(0)->code = machine.code;
  } else {
    if (n >> 1 >= groups.size()) throw Malformed("a closure block that there is not");
    const bytecode::Group& group = groups[n >> 1];
    if (group.captures > in.left()) throw Malformed("a closure block larger than the file");
    b = engine.heap().make_closure_block(static_cast<std::uint32_t>(group.functions.size()), group.captures);
    for (std::uint32_t i = 0; i < b->procedures; ++i) b->procedure(i)->code = engine.loaded.codes[group.functions[i]].get();
  }
  std::fill_n(b->captured(), b->captures, value::kUnspecified);
  own(r, b);
  for (std::uint32_t i = 0; i < b->captures; ++i) value(b->captured()[i]);
}

void ImageReader::bundle(const Reference& r) {
  std::uint64_t tag = count();
  auto* b = value::as_bundle(engine.heap().make_bundle(tag, value::kUnspecified, value::kUnspecified));
  own(r, b);
  bundles_.push_back(b);
  value(b->primal);
  value(b->tangent);
}

void ImageReader::frame(const Reference& r) {
  std::uint32_t pc = 0;
  const Code* c = code(pc);
  std::uint64_t waits = count(std::uint64_t{0xFFFF} * 2), result = waits >> 1;
  if (result != 0 &&
      (result > c->slots || (c->live[std::size_t{pc} * c->mask_words + (result - 1) / 64] >> (result - 1) % 64 & 1) == 0))
    throw Malformed("a frame waits for a value it has no register for");
  Frame* f = engine.heap().make_frame(c);
  f->rest_at(c->words() + pc, result == 0 ? bytecode::kNoRegister : static_cast<std::uint16_t>(result - 1));
  f->set_lifted((waits & 1) != 0);
  value::for_each_live(f, [&](std::uint32_t slot) { f->slots()[slot] = value::kUnspecified; });
  own(r, f);
  frames_.push_back(f);
  object(f->parent, Kind::frame);
  states_as_values_ = c->module == nullptr;
  value::for_each_live(f, [&](std::uint32_t slot) { value(f->slots()[slot]); });
  states_as_values_ = false;
}

void ImageReader::capsule(const Reference& r) {
  auto native = engine.heap().own<Capsule>();
  engine.heap().capsule_count += 1;
  Capsule* c = native.get();
  own(r, engine.heap().make_native(Kind::capsule, std::move(native)));
  runs(c->runs, Stack::capsule);
  auto bytes = static_cast<std::int64_t>(sizeof(Capsule) + c->runs.capacity() * sizeof(Run));
  engine.heap().charge(engine.heap().capsules, bytes);
  c->charged = bytes;
  c->finished = flag();
  value(c->value);
  c->steps = count();
  c->serial = count();
  if (c->finished != c->runs.empty()) throw Malformed("a capsule without a computation");
}

void ImageReader::state(const Reference& r) {
  OwnedState native = begin_state(*this);
  RunState* state = native.get();
  own(r, engine.heap().make_native(Kind::state, std::move(native)));
  read_state(*this, *state);
}

void ImageReader::own(const Reference& r, Object* o) {
  o->serial = serial_;
  made_[r.number] = o;
  fill(r, o);
}

void ImageReader::body(Reference& r, std::size_t& first_child) {
  Kind kind = r.kind;
  if (r.into == Into::other || kind == Kind::state) {
    std::uint8_t k = in.u8();
    kind = static_cast<Kind>(k);
    if (k > static_cast<std::uint8_t>(Kind::tensor)) throw Malformed("an object of no known kind");
  }
  if (kind != Kind::symbol) serial_ += static_cast<std::uint64_t>(bytecode::unzigzag(in.varint()));
  switch (kind) {
  case Kind::pair:
    pairs(r, first_child);
    break;
  case Kind::vector:
    vector(r);
    break;
  case Kind::closure_block:
    block(r);
    break;
  case Kind::string:
    own(r, engine.heap().make_string(text()).other());
    break;
  case Kind::symbol: // known by its text: another reference may have made it
    made_[r.number] = engine.heap().make_symbol(text()).other();
    fill(r, made_[r.number]);
    break;
  case Kind::bundle:
    bundle(r);
    break;
  case Kind::frame:
    frame(r);
    break;
  case Kind::capsule:
    capsule(r);
    break;
  case Kind::state:
    state(r);
    break;
  case Kind::tensor: {
    Value made = engine.heap().make_tensor({});
    own(r, made.other());
    tensor(value::as_tensor_object(made)->tensor);
    const std::uint8_t flags = in.u8();
    if ((flags & ~value::kTensorFlags) != 0) throw Malformed("a tensor in a state that there is not");
    if (value::tensor_of(made).weak) throw Malformed("a tensor that is a number");
    made.other()->flags = flags & (value::kWatched | value::kKept);
    if ((flags & value::kAside) != 0) value::put_aside(*value::as_tensor_object(made));
    break;
  }
  }
}

void ImageReader::expect(std::uint64_t objects) {
  constexpr std::size_t kLeastObject = 2; // a text without characters
  if (objects > in.left() / kLeastObject || objects > UINT32_MAX) throw Malformed("more objects than the file can hold");
  expected_ = objects;
  reserve(made_, objects);
  reserve(read_, objects);
}

void ImageReader::read_objects() {
  others_of_roots_ = others_.size();
  back_ = false;
  while (!waiting_.empty()) {
    Reference r = waiting_.back();
    waiting_.pop_back();
    std::size_t first_child = made_.size();
    body(r, first_child);
    read_.push_back({r.number, static_cast<std::uint32_t>(first_child)});
  }
}

} // namespace cairn::image
