// Slabs, free lists and the iterative release of objects. A cell on a free list keeps nothing but its link; an object that
// waits to be released is linked through its serial, which nobody reads any more.
#include "vm/value/heap.h"

#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cairn::value {

namespace {

constexpr std::int64_t kSymbolEntry = 64; // of the table
// Between two questions whether to go on with releasing: a tenth of a millisecond if no object is in the processor's caches. What
// takes longer than a small object weighs more.
constexpr std::int64_t kReleased = 4096;
constexpr std::int64_t kTensorWeight = 32, kNativeWeight = 64;
constexpr std::uint64_t kReleasedAtOnce = 4096; // items of a vector released at once; vectors have 2^40 items at most

Object* link_of(const Object* o) { return reinterpret_cast<Object*>(o->serial); }

// In MiB, unless that would say that something is nothing: then in KiB, or in bytes.
std::string megabytes(std::int64_t bytes) {
  constexpr double kKibi = 1024.0, kMebi = kKibi * kKibi;
  const auto size = static_cast<double>(bytes);
  if (bytes > 0 && size < kKibi / 10) return fmt::format("{} bytes", bytes);
  return bytes > 0 && size < kMebi / 10 ? fmt::format("{:.1f} KiB", size / kKibi) : fmt::format("{:.1f} MiB", size / kMebi);
}

} // namespace

Heap::~Heap() {
  stops_releasing = nullptr;
  release_set_aside();
  for (std::size_t table = 0; table < kSymbolTables; ++table)
    for (auto& [text, symbol] : symbols_[table])
      if (symbol->size_class == kLarge) free_large(symbol);
}

#ifndef NDEBUG
void Heap::look() {
  if (!refusing_) return;
  refusing_ = false;
  throw BudgetExceeded("memory budget exceeded by a request that a test refused");
}
#endif

void Heap::refill(std::uint16_t size_class) {
#ifndef NDEBUG
  look();
#endif
  std::size_t size = std::size_t{size_class} * 16;
  if (headroom_ < static_cast<std::int64_t>(size)) raise_watermark(static_cast<std::int64_t>(size));
  if (free_[size_class] != nullptr) return;
  auto* slab = static_cast<char*>(slabs_.take());
  if (slab == nullptr) throw BudgetExceeded("out of memory: the system refused 2 MiB");
  std::size_t cells = kSlabBytes / size;
  for (std::size_t i = 0; i + 1 < cells; ++i)
    reinterpret_cast<Free*>(slab + i * size)->next = reinterpret_cast<Free*>(slab + (i + 1) * size);
  reinterpret_cast<Free*>(slab + (cells - 1) * size)->next = nullptr;
  free_[size_class] = reinterpret_cast<Free*>(slab);
  ops::forbid(slab, std::int64_t{kSlabBytes});
}

// The watermark goes kGranularity bytes beyond the request, as far as the budget allows. (charge() has added the request to its
// account already, so heap_live() below, which takes the other accounts away, is right for the heap.) What is refused is not
// held: the message has accounts without it.
void Heap::raise_watermark(std::int64_t request, const Account* charged, std::int64_t bytes) {
#ifndef NDEBUG
  look();
#endif
  while (set_aside_ && budget_ != 0 && live_bytes() + request > budget_) release_set_aside();
  while (makes_way && budget_ != 0 && live_bytes() + request > budget_)
    if (!makes_way(live_bytes() + request - budget_)) break;
  std::int64_t live = live_bytes();
  std::int64_t heap = heap_live() + request;
  if (budget_ != 0 && live + request > budget_) refuse(request, "", heap_live() + bytes, charged, bytes);
  heap_peak_ = std::max(heap_peak_, heap);
  if (live + request > highest_) {
    highest_ = live + request;
    if (grows) grows(live + request);
  }
  watermark_ = live + request + kGranularity;
  if (budget_ != 0) watermark_ = std::min(watermark_, budget_);
  headroom_ = watermark_ - live;
}

void Heap::refuse(std::int64_t request, std::string_view what, std::int64_t heap, const Account* charged,
                  std::int64_t bytes) const {
  const auto held = [&](const Account& account) { return account.live - (&account == charged ? bytes : 0); };
  throw BudgetExceeded(fmt::format("memory budget of {} exceeded by a request of {} bytes{}: heap {}, tape {}, capsules {}{}",
                                   megabytes(budget_), request, what, megabytes(heap), megabytes(held(tape)),
                                   megabytes(held(capsules)), held(tensors) == 0 ? "" : ", tensors " + megabytes(held(tensors))) +
                       (held(scratch) < kGranularity * 16 ? "" : ", scratch " + megabytes(held(scratch))));
}

void Heap::over_budget(std::int64_t request, std::string_view what) { refuse(request, what, heap_live(), nullptr, 0); }

void Heap::set_budget(std::int64_t bytes) {
  budget_ = bytes;
  watermark_ = live_bytes();
  headroom_ = 0;
}

// What objects gave back is no room for others any more, or growth into it would not be seen.
void Heap::begin_highest() {
  highest_ = watermark_ = live_bytes();
  headroom_ = 0;
}

void Heap::charge(Account& account, std::int64_t bytes, std::int64_t beside) {
  account.live += bytes;
  const std::int64_t all = bytes + beside;
  if (all <= 0) {
    watermark_ += all; // what is given back does not become room for objects: heap_peak_ would miss their growth
    return;
  }
#ifndef NDEBUG
  const bool look = refuses() || headroom_ < all;
#else
  const bool look = headroom_ < all;
#endif
  if (look) {
    try {
      raise_watermark(all, &account, bytes);
    } catch (...) {
      account.live -= bytes;
      throw;
    }
  }
  headroom_ -= all;
  account.peak = std::max(account.peak, account.live);
}

void* Heap::allocate_large(std::size_t bytes, Kind kind) {
  bytes = (bytes + 15) / 16 * 16;
#ifndef NDEBUG
  if (refuses()) look();
#endif
  if (headroom_ < static_cast<std::int64_t>(bytes)) raise_watermark(static_cast<std::int64_t>(bytes));
  void* p = source_.allocate != nullptr ? source_.allocate(source_.user, bytes, 16) : std::malloc(bytes);
  if (p == nullptr) throw BudgetExceeded(fmt::format("out of memory: the system refused {} bytes", bytes));
  headroom_ -= static_cast<std::int64_t>(bytes);
  auto* o = static_cast<Object*>(p);
  o->count = 1;
  o->kind = kind;
  o->flags = 0;
  o->size_class = kLarge;
  o->serial = next_serial++;
#ifndef NDEBUG
  ++live_objects_;
#endif
  return o;
}

void Heap::free_large(Object* o) {
  if (source_.release != nullptr)
    source_.release(source_.user, o, size_of(o));
  else
    std::free(o);
}

void Heap::end_immortal(Object* o) {
  if (o->size_class == kLarge && o->kind != Kind::symbol) free_large(o); // symbols are the table's
}

void Heap::make_immortal(Object* o) {
#ifndef NDEBUG
  if (o->count < kImmortal) --live_objects_;
#endif
  o->count = kImmortal;
  o->serial = 0;
}

std::size_t Heap::size_of(const Object* o) {
  std::size_t bytes = 0;
  switch (o->kind) {
  case Kind::vector:
    bytes = sizeof(Vector) + 8 * static_cast<const Vector*>(o)->length;
    break;
  case Kind::string:
  case Kind::symbol:
    bytes = sizeof(Text) + static_cast<const Text*>(o)->bytes;
    break;
  case Kind::closure_block: {
    const auto* b = static_cast<const ClosureBlock*>(o);
    bytes = sizeof(ClosureBlock) + sizeof(Procedure) * b->procedures + 8 * std::size_t{b->captures};
    break;
  }
  case Kind::frame:
    bytes = static_cast<const Frame*>(o)->code->frame_bytes();
    break;
  case Kind::pair:
    bytes = sizeof(Pair);
    break;
  case Kind::bundle:
    bytes = sizeof(Bundle);
    break;
  case Kind::capsule:
  case Kind::state:
    bytes = sizeof(NativeObject);
    break;
  case Kind::tensor:
    bytes = sizeof(TensorObject);
    break;
  }
  return (bytes + 15) / 16 * 16;
}

// False: there is more of it to be released, and it is in the list again. `left` goes down by the time it takes.
inline bool Heap::release_children(Object* o, std::int64_t& left) {
  --left;
  switch (o->kind) {
  case Kind::pair: {
    auto* p = static_cast<Pair*>(o);
    release(p->cdr);
    release(p->car);
    break;
  }
  case Kind::vector: {
    auto* v = static_cast<Vector*>(o);
    if (v->length > kReleasedAtOnce) return release_stretch(v, left);
    for (std::uint64_t i = 0; i < v->length; ++i) release(v->items()[i]);
    break;
  }
  case Kind::closure_block: {
    auto* b = static_cast<ClosureBlock*>(o);
    for (std::uint32_t i = 0; i < b->captures; ++i) release(b->captured()[i]);
    break;
  }
  case Kind::bundle:
    release(static_cast<Bundle*>(o)->primal);
    release(static_cast<Bundle*>(o)->tangent);
    break;
  case Kind::frame: {
    auto* f = static_cast<Frame*>(o);
    for_each_live(f, [&](std::uint32_t slot) { release(f->slots()[slot]); });
    if (f->parent != nullptr) release(f->parent);
    break;
  }
  case Kind::capsule:
  case Kind::state: {
    auto* n = static_cast<NativeObject*>(o);
    left -= kNativeWeight;
    n->native->release(*this);
    delete n->native;
    break;
  }
  case Kind::symbol:
    symbols_like(static_cast<Text*>(o)->view()).erase(static_cast<Text*>(o)->view());
    charge(scratch, -kSymbolEntry);
    break;
  case Kind::string:
    break;
  case Kind::tensor:
    left -= kTensorWeight;
    end_aside(*static_cast<TensorObject*>(o));
    static_cast<TensorObject*>(o)->tensor.~Tensor();
    break;
  }
  return true;
}

// Of a long vector, from its end. Its count, which nobody looks at any more, says how many stretches are behind it.
bool Heap::release_stretch(Vector* v, std::int64_t& left) {
  const std::uint64_t rest = v->length - v->count * kReleasedAtOnce;
  const std::uint64_t first = rest > kReleasedAtOnce ? rest - kReleasedAtOnce : 0;
  ++v->count;
  if (first != 0) link(v);
  for (std::uint64_t i = first; i < rest; ++i) release(v->items()[i]);
  left -= static_cast<std::int64_t>(kReleasedAtOnce / 8);
  return first == 0;
}

inline void Heap::give_back(Object* o, std::int64_t& left) {
#ifndef NDEBUG
  --live_objects_;
#endif
  if (o->size_class == kLarge) {
    const auto bytes = static_cast<std::int64_t>(size_of(o));
    left -= bytes / 64;
    headroom_ += bytes;
    free_large(o);
    return;
  }
  give_back_cell(o);
}

void Heap::release_slow(Object* o) {
  if (o->count != 0) { // immortal
    o->count = kImmortal;
    return;
  }
  if (draining_) return link(o);
  draining_ = true;
  release_from(o);
}

// This one and all that nothing else refers to. What cannot go on is left in the list, and so is what is released meanwhile.
void Heap::release_from(Object* o) {
  for (std::int64_t left = kReleased;;) {
    if (release_children(o, left)) [[likely]]
      give_back(o, left);
    o = pending_;
    if (o == nullptr) break;
    if (left <= 0) [[unlikely]] {
      if (stops_releasing && stops_releasing()) {
        set_aside_ = true;
        return;
      }
      left = kReleased;
    }
    pending_ = link_of(o);
  }
  draining_ = false;
}

bool Heap::release_set_aside() {
  if (!set_aside_) return true;
  set_aside_ = false;
  Object* o = pending_;
  pending_ = link_of(o);
  release_from(o);
  return !set_aside_;
}

void Heap::release_begun(Vector* v, std::uint64_t set) {
  const std::uint64_t behind =
      v->length > kReleasedAtOnce ? (v->length - set) / kReleasedAtOnce : 0; // shorter ones are released at once
  std::fill(v->items() + set, v->items() + v->length - behind * kReleasedAtOnce, kUnspecified);
  v->count = static_cast<std::uint32_t>(behind);
  if (draining_) return link(v);
  draining_ = true;
  release_from(v);
}

void Heap::give_back(Object* o) {
  std::int64_t left = 0;
  give_back(o, left);
}

Value Heap::cons_slowly(Value car, Value cdr) {
  Owned a(*this, car), d(*this, cdr);
  auto* p = static_cast<Pair*>(allocate(sizeof(Pair), Kind::pair));
  p->car = a.take();
  p->cdr = d.take();
  return of_pair(p);
}

Vector* Heap::make_vector(std::uint64_t length) {
  if (length > (std::uint64_t{1} << 40))
    throw BudgetExceeded(fmt::format("memory: a vector of {} elements is too large", length));
  auto* v = static_cast<Vector*>(allocate(sizeof(Vector) + 8 * length, Kind::vector));
  v->length = length;
  return v;
}

namespace {

std::uint32_t code_points(std::string_view utf8) {
  std::uint32_t n = 0;
  for (char c : utf8) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

} // namespace

Text* Heap::make_text(std::uint64_t bytes) {
  if (bytes > 0xFFFFFFF0u) throw BudgetExceeded("memory: a string of more than 4 GiB is too large");
  auto* t = static_cast<Text*>(allocate(sizeof(Text) + bytes, Kind::string));
  t->bytes = static_cast<std::uint32_t>(bytes);
  t->length = 0;
  return t;
}

Value Heap::make_string(std::string_view utf8) {
  Text* t = make_text(utf8.size());
  t->length = code_points(utf8);
  std::copy(utf8.begin(), utf8.end(), t->data());
  return of_other(t);
}

Value Heap::make_symbol(std::string_view utf8) {
  Symbols& symbols = symbols_like(utf8);
  auto it = symbols.find(utf8);
  if (it != symbols.end() && it->second->count == 0) { // it was set aside with what referred to it
    release_all_set_aside();
    it = symbols.end();
  }
  if (it != symbols.end()) {
    retain(it->second);
    return of_other(it->second);
  }
  charge(scratch, kSymbolEntry);
  // Whether a symbol is there depends on who holds it, and snapshots do: a replay may make one that its first run found, or the
  // other way round. So it takes no serial, as nothing that has one is known by where it was made but in the same place of every
  // replay.
  const std::uint64_t serial = next_serial;
  Value v = kUnspecified;
  try {
    v = make_string(utf8);
    symbols.emplace(as_text(v)->view(), as_text(v));
  } catch (...) {
    release(v);
    next_serial = serial;
    charge(scratch, -kSymbolEntry);
    throw;
  }
  next_serial = serial;
  as_text(v)->serial = 0;
  as_text(v)->kind = Kind::symbol;
  return v;
}

Value Heap::make_bundle(std::uint64_t tag, Value primal, Value tangent) {
  std::uint32_t levels = 1;
  for (Value part : {primal, tangent})
    if (is_bundle(part)) levels = std::max(levels, 1 + as_bundle(part)->levels());
  Owned p(*this, primal), t(*this, tangent);
  if (levels > kMostLevels)
    throw BudgetExceeded(
        fmt::format("a number under more than {} levels of forward mode would have too many parts", kMostLevels));
  auto* b = static_cast<Bundle*>(allocate(sizeof(Bundle), Kind::bundle));
  b->flags = static_cast<std::uint8_t>(levels);
  b->tag = tag;
  b->primal = p.take();
  b->tangent = t.take();
  return of_other(b);
}

ClosureBlock* Heap::make_closure_block(std::uint32_t procedures, std::uint32_t captures) {
  auto* b = static_cast<ClosureBlock*>(
      allocate(sizeof(ClosureBlock) + sizeof(Procedure) * procedures + 8 * std::size_t{captures}, Kind::closure_block));
  b->procedures = procedures;
  b->captures = captures;
  for (std::uint32_t i = 0; i < procedures; ++i) b->procedure(i)->offset = sizeof(ClosureBlock) + sizeof(Procedure) * i;
  return b;
}

NativeObject* Heap::make_native(Kind kind, OwnedNative<Native> native) {
  auto* n = static_cast<NativeObject*>(allocate(sizeof(NativeObject), kind));
  n->native = native.release();
  return n;
}

Value Heap::make_tensor(ops::Tensor tensor) {
  auto* t = static_cast<TensorObject*>(allocate(sizeof(TensorObject), Kind::tensor));
  new (&t->tensor) ops::Tensor(std::move(tensor));
  if (ops::Storage* s = t->tensor.storage.get(); s != nullptr && s->birth == 0) s->birth = t->serial;
  return of_other(t);
}

} // namespace cairn::value
