// Chunks of the tape, their sharing and clearing, and the reverse sweep.
#include "vm/tape/tape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace cairn::tape {

std::shared_ptr<const PastEffects> past_effects(Heap& heap, EffectValues inputs, Draws draws) {
  if (inputs.empty() && draws.size() == 0) return nullptr;
  return std::make_shared<const PastEffects>(heap, std::move(inputs), std::move(draws));
}

Tape::Tape(Heap& heap, std::uint16_t id, std::uint64_t low, std::uint64_t start)
    : heap_(heap), id_(id), name_(value::taped(id, 0).bits >> 32), low_(low), span_(start - low) {}

Tape::~Tape() {
  for (Chunk* c : chunks_) drop_chunk(c);
  if (charged_maps_ != 0) heap_.charge(heap_.tape, -charged_maps_);
}

void Tape::release(Heap& heap) {
  for (const Composite& c : composites) {
    heap.release(c.f);
    heap.release(c.x);
    heap.release(c.cotangent);
  }
  for (const Output& o : outputs) heap.release(o.skeleton);
  composites.clear();
  outputs.clear();
  inputs.clear();
}

Chunk* Tape::new_chunk() {
  heap_.charge(heap_.tape, sizeof(Chunk));
  auto* c = static_cast<Chunk*>(heap_.tape_chunks.take());
  if (c == nullptr) {
    heap_.charge(heap_.tape, -static_cast<std::int64_t>(sizeof(Chunk)));
    throw value::BudgetExceeded("out of memory: the system refused a piece of tape");
  }
  c->owners = 1;
  c->cleared = c->ready = false;
  c->few = 0;
  c->cotangents = nullptr;
  return c;
}

std::int64_t Tape::bytes_of(const Chunk& chunk) {
  const auto few = static_cast<std::size_t>(chunk.few == 0 ? Chunk::kRecords : chunk.few);
  return static_cast<std::int64_t>(offsetof(Chunk, records) + few * sizeof(Record));
}

std::uint32_t Tape::few() const {
  const std::uint32_t records = count_ % Chunk::kRecords;
  return records <= Chunk::kRecords / 2 ? records : 0;
}

void Tape::shorten() noexcept {
  if (next_ == end_ || few() == 0 || chunks_.back()->cleared) return;
  Chunk* const whole = chunks_.back();
  Chunk header{};
  header.few = static_cast<std::uint16_t>(few());
  const std::int64_t bytes = bytes_of(header);
  auto* const shorter = static_cast<Chunk*>(std::malloc(static_cast<std::size_t>(bytes)));
  if (shorter == nullptr) return;
  try {
    heap_.charge(heap_.tape, bytes);
  } catch (const value::BudgetExceeded&) {
    std::free(shorter);
    return;
  }
  std::memcpy(static_cast<void*>(shorter), static_cast<const void*>(whole), static_cast<std::size_t>(bytes));
  shorter->owners = 1;
  shorter->few = header.few;
  chunks_.back() = shorter;
  next_ = end_ = nullptr;
  drop_chunk(whole);
}

void Tape::lengthen() {
  if (chunks_.empty() || chunks_.back()->few == 0) return;
  Chunk* const shorter = chunks_.back();
  chunks_.back() = copy_chunk(*shorter);
  next_ = chunks_.back()->records + shorter->few;
  end_ = chunks_.back()->records + Chunk::kRecords;
  drop_chunk(shorter);
}

void Tape::drop_chunk(Chunk* chunk) {
  if (--chunk->owners != 0) return;
  heap_.charge(heap_.tape, -bytes_of(*chunk));
  if (chunk->few != 0) return std::free(chunk);
  if (chunk->cotangents != nullptr) {
    heap_.charge(heap_.tape, -static_cast<std::int64_t>(sizeof(double) * Chunk::kRecords));
    std::free(chunk->cotangents);
  }
  heap_.tape_chunks.give_back(chunk);
}

void Tape::make_cotangents(Chunk* chunk) {
  heap_.charge(heap_.tape, sizeof(double) * Chunk::kRecords);
  chunk->cotangents = static_cast<double*>(std::malloc(sizeof(double) * Chunk::kRecords));
  if (chunk->cotangents == nullptr) {
    heap_.charge(heap_.tape, -static_cast<std::int64_t>(sizeof(double) * Chunk::kRecords));
    throw value::BudgetExceeded("out of memory: the system refused a piece of tape");
  }
}

Chunk* Tape::copy_chunk(const Chunk& from) {
  Chunk* copy = new_chunk();
  std::memcpy(copy->records, from.records, from.few == 0 ? sizeof(copy->records) : from.few * sizeof(Record));
  copy->cleared = from.cleared;
  if (from.cotangents != nullptr) {
    try {
      make_cotangents(copy);
    } catch (...) {
      drop_chunk(copy);
      throw;
    }
    std::memcpy(copy->cotangents, from.cotangents, sizeof(double) * Chunk::kRecords);
  }
  return copy;
}

std::unique_ptr<Tape> Tape::clone(Heap& heap) const {
  auto t = std::make_unique<Tape>(heap, id_, low_, start());
  t->chunks_ = chunks_;
  for (Chunk* c : chunks_) {
    ++c->owners;
    c->ready = false;
  }
  t->count_ = count_;
  if (next_ != end_) { // both go on writing into their last chunk
    Chunk* last = t->chunks_.back();
    Chunk* copy = t->copy_chunk(*last);
    --last->owners;
    t->chunks_.back() = copy;
    t->next_ = copy->records + (next_ - last->records);
    t->end_ = copy->records + Chunk::kRecords;
  }
  t->inputs = inputs;
  t->composites = composites;
  t->keeps_primals_ = keeps_primals_;
  t->outputs = outputs;
  t->tensors_ = tensors_;
  t->unswept_tensors_ = unswept_tensors_;
  t->leaf_tensors_ = leaf_tensors_;
  t->tensor_bytes_ = tensor_bytes_;
  t->kept_bytes_ = kept_bytes_;
  t->lean_ = lean_;
  t->costs_ = costs_;
  t->set_constant_places(constant_places_);
  t->constant_inputs_.assign(constant_inputs_.begin(), constant_inputs_.end());
  t->most_weight = most_weight;
  t->alive_at_start = alive_at_start;
  t->most_alive = most_alive;
  t->made_much = made_much;
  t->tensor_cotangents = tensor_cotangents;
  t->computed_again = computed_again;
  t->first_reads = first_reads;
  t->account_maps();
  for (const Composite& c : composites) {
    Heap::retain(c.f);
    Heap::retain(c.x);
    Heap::retain(c.cotangent);
  }
  for (const Output& o : outputs) Heap::retain(o.skeleton);
  return t;
}

void Tape::grow() {
  if (count_ >= kNone - Chunk::kRecords) throw value::BudgetExceeded("a tape holds at most 4,294,966,000 records");
  chunks_.push_back(nullptr);
  try {
    chunks_.back() = new_chunk();
  } catch (...) {
    chunks_.pop_back();
    throw;
  }
  next_ = chunks_.back()->records;
  end_ = next_ + Chunk::kRecords;
}

void Tape::cut(const Length& to) {
  for (; composites.size() > to.composites; composites.pop_back())
    for (Value v : {composites.back().f, composites.back().x, composites.back().cotangent}) heap_.release(v);
  for (; outputs.size() > to.outputs; outputs.pop_back()) heap_.release(outputs.back().skeleton);
  first_reads.resize(std::min(first_reads.size(), to.first_reads));
  cut_tensors(to.tensors);
  std::vector<Place> gone;
  inputs.for_each([&](Place place, const Input& input) {
    if (input.node >= to.records) gone.push_back(place);
  });
  for (Place place : gone) inputs.erase(place);
  while (!constant_inputs_.empty() && constant_inputs_.back() >= to.records) constant_inputs_.pop_back();
  account_maps();
  for (; chunks_.size() > to.chunks; chunks_.pop_back()) drop_chunk(chunks_.back());
  count_ = to.records;
  next_ = to.next;
  end_ = to.end;
  keeps_primals_ = to.keeps_primals;
  costs_.all = to.cost;
}

std::uint64_t Tape::own_bytes() const {
  constexpr std::size_t kOfInput = 2 * (sizeof(Place) + sizeof(Input)); // a table is between half and wholly full
  std::uint64_t bytes = (count_ + Chunk::kRecords - 1) / Chunk::kRecords * sizeof(Chunk) + inputs.size() * kOfInput +
                        composites.size() * kOfComposite;
  for (const auto& record : tensors()) bytes += record->own_bytes();
  return bytes;
}

std::uint64_t Tape::saved_by_shortening() const { return few() == 0 ? 0 : (Chunk::kRecords - few()) * sizeof(Record); }

void Tape::account_maps() {
  const std::int64_t now =
      inputs.bytes() + static_cast<std::int64_t>(composites.capacity() * sizeof(Composite) + outputs.capacity() * sizeof(Output));
  if (now == charged_maps_) return;
  heap_.charge(heap_.tape, now - charged_maps_);
  charged_maps_ = now;
}

void Tape::set_constant_places(std::vector<Place> places) {
  constant_inputs_.reserve(places.size());
  constant_places_ = std::move(places);
}

bool Tape::restore_constants(std::vector<Place> places, std::vector<std::uint32_t> inputs) {
  if (!std::ranges::is_sorted(places) || !std::ranges::is_sorted(inputs) || inputs.size() > places.size()) return false;
  if (!inputs.empty() && inputs.back() >= size()) return false;
  set_constant_places(std::move(places));
  constant_inputs_.assign(inputs.begin(), inputs.end());
  return true;
}

// A sum of many numbers is looked at only as far as costs nothing.
bool Tape::follows_from_constants(std::uint32_t node) const {
  constexpr std::size_t kMostLookedAt = 16;
  std::array<std::uint32_t, 2 * kMostLookedAt> pending{node};
  std::size_t count = 1;
  for (std::size_t looked = 0; count > 0; ++looked) {
    if (looked == kMostLookedAt) return false;
    const std::uint32_t at = pending[--count];
    if (std::ranges::binary_search(constant_inputs_, at)) continue;
    const Record& r = chunks_[at / Chunk::kRecords]->records[at % Chunk::kRecords];
    if (r.a == kNone) return false; // another input, or no number
    pending[count++] = r.a;
    if (r.b != kNone) pending[count++] = r.b;
  }
  return true;
}

Value Tape::lift(Place place, Value original, double number) {
  bool fresh = false;
  Input& input = inputs.at(place, fresh);
  if (fresh) {
    input.node = leaf(number).tape_node();
    input.original = original;
    if (!constant_places_.empty() && std::ranges::binary_search(constant_places_, place)) constant_inputs_.push_back(input.node);
    account_maps();
  }
  return value::taped(id_, input.node);
}

Chunk* Tape::prepare(std::uint32_t index) {
  Chunk* c = chunks_[index];
  if (c->owners > 1) {
    Chunk* copy = copy_chunk(*c);
    --c->owners;
    chunks_[index] = c = copy;
  }
  if (!c->cleared) {
    if (keeps_primals_) make_cotangents(c);
    const double absent = std::bit_cast<double>(kAbsent);
    for (std::uint32_t i = 0; i < Chunk::kRecords; ++i) c->cotangent(i) = absent;
    c->cleared = true;
  }
  c->ready = true;
  return c;
}

void Tape::seed(std::uint32_t node, double cotangent) { ready(node)->cotangent(node % Chunk::kRecords) = cotangent + 0.0; }

void Tape::accumulate(std::uint32_t node, double cotangent) {
  double& bar = ready(node)->cotangent(node % Chunk::kRecords);
  bar = (bar + cotangent) + 0.0;
}

double Tape::cotangent(std::uint32_t node) { return ready(node)->cotangent(node % Chunk::kRecords); }

// `Separate`: cotangents stand beside the records in every chunk of this tape, else inside them.
template <bool Separate> void Tape::sweep_chunk(Chunk* chunk, std::uint32_t from, std::uint32_t to) {
  auto bar_of = [](Chunk* c, std::uint32_t node) -> double& {
    if constexpr (Separate)
      return c->cotangents[node % Chunk::kRecords];
    else
      return c->records[node % Chunk::kRecords].value;
  };
  const std::uint32_t base = from / Chunk::kRecords * Chunk::kRecords;
  auto argument = [&](std::uint32_t node) -> double& {
    return node >= base ? bar_of(chunk, node) : bar_of(ready(node), node); // mostly a recent one
  };
  for (std::uint32_t i = to; i-- > from;) {
    const Record& r = chunk->records[i % Chunk::kRecords];
    double bar = bar_of(chunk, i);
    if (is_absent(bar) || r.a == kNone) continue;
    double& a = argument(r.a);
    a = (a + bar * r.da) + 0.0;
    if (r.b == kNone) continue;
    double& b = argument(r.b);
    b = (b + bar * r.db) + 0.0;
  }
}

void Tape::sweep(std::uint32_t from, std::uint32_t to) {
  while (to > from) {
    std::uint32_t first = std::max(from, (to - 1) / Chunk::kRecords * Chunk::kRecords);
    Chunk* c = ready(to - 1);
    if (!keeps_primals_)
      sweep_chunk<false>(c, first, to);
    else
      sweep_chunk<true>(c, first, to);
    to = first;
  }
}

} // namespace cairn::tape
