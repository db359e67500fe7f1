// Chunks of the tape, their sharing and clearing, and the reverse sweep.
#include "vm/tape/tape.h"

#include <mimalloc.h>

#include <cstring>

#include <immintrin.h>

namespace cairn::tape {

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }

Tape::Tape(Heap& heap, std::uint16_t id, std::uint64_t low, std::uint64_t start)
    : heap_(heap), id_(id), low_(low), span_(start - low) {}

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
  inputs.for_each([&](Place, Input& i) { heap.release(i.original); });
  composites.clear();
  outputs.clear();
  inputs.clear();
}

Chunk* Tape::new_chunk() {
  heap_.charge(heap_.tape, sizeof(Chunk));
  auto* c = static_cast<Chunk*>(mi_malloc(sizeof(Chunk)));
  if (c == nullptr) {
    heap_.charge(heap_.tape, -static_cast<std::int64_t>(sizeof(Chunk)));
    throw value::BudgetExceeded("out of memory: the system refused a piece of tape");
  }
  c->owners = 1;
  c->cleared = c->ready = false;
  return c;
}

void Tape::drop_chunk(Chunk* chunk) {
  if (--chunk->owners != 0) return;
  heap_.charge(heap_.tape, -static_cast<std::int64_t>(sizeof(Chunk)));
  mi_free(chunk);
}

Tape* Tape::clone(Heap& heap) const {
  auto* t = new Tape(heap, id_, low_, start());
  t->chunks_ = chunks_;
  for (Chunk* c : chunks_) {
    ++c->owners;
    c->ready = false;
  }
  t->count_ = count_;
  if (next_ != end_) {  // both go on writing into their last chunk
    Chunk* last = t->chunks_.back();
    Chunk* copy = t->new_chunk();
    std::memcpy(copy->records, last->records, sizeof(copy->records));
    copy->cleared = last->cleared;
    --last->owners;
    t->chunks_.back() = copy;
    t->next_ = copy->records + (next_ - last->records);
    t->end_ = copy->records + Chunk::kRecords;
  }
  t->inputs = inputs;
  t->composites = composites;
  t->outputs = outputs;
  for (const Composite& c : composites) {
    Heap::retain(c.f);
    Heap::retain(c.x);
    Heap::retain(c.cotangent);
  }
  for (const Output& o : outputs) Heap::retain(o.skeleton);
  t->inputs.for_each([](Place, Input& i) { Heap::retain(i.original); });
  t->account_maps();
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

void Tape::account_maps() {
  std::int64_t now = inputs.bytes();
  if (now == charged_maps_) return;
  heap_.charge(heap_.tape, now - charged_maps_);
  charged_maps_ = now;
}

Value Tape::lift(Place place, Value original, double number) {
  bool fresh = false;
  Input& input = inputs.at(place, fresh);
  if (fresh) {
    input.node = leaf(number).tape_node();
    input.original = Heap::retain(original);
    account_maps();
  }
  return value::taped(id_, input.node);
}

Chunk* Tape::prepare(std::uint32_t index) {
  Chunk* c = chunks_[index];
  if (c->owners > 1) {
    Chunk* copy = new_chunk();
    std::memcpy(copy->records, c->records, sizeof(copy->records));
    copy->cleared = c->cleared;
    --c->owners;
    chunks_[index] = c = copy;
  }
  if (!c->cleared) {
    const double absent = std::bit_cast<double>(kAbsent);
    for (Record& r : c->records) r.value = absent;
    c->cleared = true;
  }
  c->ready = true;
  return c;
}

void Tape::seed(std::uint32_t node, double cotangent) { ready(node)->records[node % Chunk::kRecords].value = cotangent + 0.0; }

void Tape::accumulate(std::uint32_t node, double cotangent) {
  double& bar = ready(node)->records[node % Chunk::kRecords].value;
  bar = (bar + cotangent) + 0.0;
}

double Tape::cotangent(std::uint32_t node) { return ready(node)->records[node % Chunk::kRecords].value; }

void Tape::sweep(std::uint32_t from, std::uint32_t to) {
  while (to > from) {
    std::uint32_t chunk = (to - 1) / Chunk::kRecords;
    std::uint32_t first = std::max(from, chunk * Chunk::kRecords);
    Chunk* c = ready(to - 1);
    for (std::uint32_t i = to; i-- > first;) {
      const Record& r = c->records[i % Chunk::kRecords];
      if (is_absent(r.value) || r.a == kNone) continue;
      double bar = r.value;
      double& a = ready(r.a)->records[r.a % Chunk::kRecords].value;
      a = (a + bar * r.da) + 0.0;
      if (r.b == kNone) continue;
      double& b = ready(r.b)->records[r.b % Chunk::kRecords].value;
      b = (b + bar * r.db) + 0.0;
    }
    to = first;
  }
}

} // namespace cairn::tape
