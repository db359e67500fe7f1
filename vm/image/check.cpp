// What of a machine's state can be checked only when all of it is there: that references close no cycle, that whoever is returned
// to waits for a value, that runs and their states are such as the machine makes.
#include "vm/image/header.h"
#include "vm/image/image.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace cairn::image {

void ImageReader::finish() {
  check_acyclic();
  for (const auto& go_on : recordings_) go_on();
  for (const Other& other : others_) {
    Object* o = made_[other.reference.number];
    Heap::retain(o);
    fill(other.reference, o);
  }
  check_frames();
  for (const RunList& list : stacks_) check_runs(list);
  check_bundles();
  check_taped();
}

// Counting references frees everything only where there are no cycles. An object is taken away when all that refer to it are
// gone; what is on a cycle stays. But where all references lead to objects that were read later there is no cycle to look for.
void ImageReader::check_acyclic() const {
  if (!back_) return;
  auto n = static_cast<std::uint32_t>(made_.size());
  value::Heap& heap = engine.heap();
  value::ChargedVector<std::uint32_t> order(n, heap), referred(n, 0, heap), first_other(n + std::size_t{1}, 0, heap);
  for (std::uint32_t k = 0; k < n; ++k) order[read_[k].number] = k;
  for (std::uint32_t child = read_[0].first_child; child < n; ++child) ++referred[child];
  for (std::size_t i = others_of_roots_; i < others_.size(); ++i) {
    ++referred[others_[i].reference.number];
    ++first_other[others_[i].reader + std::size_t{1}];
  }
  value::ChargedVector<std::uint32_t> free(heap);
  for (std::uint32_t i = 0; i < n; ++i)
    if (referred[i] == 0) free.push_back(i);
  std::partial_sum(first_other.begin(), first_other.end(), first_other.begin());
  std::uint32_t gone = 0;
  for (; !free.empty(); ++gone) {
    std::uint32_t k = order[free.back()];
    free.pop_back();
    auto drop = [&](std::uint32_t target) {
      if (--referred[target] == 0) free.push_back(target);
    };
    std::uint32_t end = k + 1 < n ? read_[k + 1].first_child : n;
    for (std::uint32_t child = read_[k].first_child; child < end; ++child) drop(child);
    for (std::uint32_t i = first_other[k]; i < first_other[k + 1]; ++i) drop(others_[others_of_roots_ + i].reference.number);
  }
  if (gone != n) throw Malformed("objects that refer to themselves");
}

// Whoever is returned to must wait for a value in some register; only the frame on top of a stack of runs does not.
void ImageReader::check_frames() const {
  for (const Frame* f : frames_)
    if (f->parent != nullptr && f->parent->result() == bytecode::kNoRegister)
      throw Malformed("a frame that nothing can be returned to");
}

namespace {

// The instruction of the machine's own code that a frame stands behind.
bool stands_behind(const Frame* f, Opcode op) {
  std::size_t words = bytecode::has_operands(op) ? 2 : 1; // of three of them
  return f->code->module == nullptr && f->pc() >= words && bytecode::opcode_of(f->code->words()[f->pc() - words]) == op;
}

} // namespace

void ImageReader::check_runs(const RunList& list) const {
  auto want = [](bool holds, const char* otherwise) {
    if (!holds) throw Malformed(otherwise);
  };
  const std::vector<Run>& runs = *list.runs;
  want(list.stack != Stack::machine || !runs.empty(), "a machine without a program");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& r = runs[i];
    bool top = i + 1 == runs.size();
    want(r.top != nullptr && (r.top->result() == bytecode::kNoRegister) == top,
         "a run whose frame does not wait for the one above it");
    if (i == 0) { // the run that was cut off gave its state to whoever keeps it
      RunKind kind = list.stack == Stack::machine   ? RunKind::base
                     : list.stack == Stack::capsule ? RunKind::interrupt
                                                    : RunKind::interval;
      want(r.kind == kind && r.state == nullptr, "a run of the wrong kind");
      want(kind != RunKind::base || r.deadline == kNever, "a run that cannot end before its time");
      continue;
    }
    bool interval = r.kind == RunKind::interval, reverse = r.kind == RunKind::reverse, streamed = r.kind == RunKind::streamed;
    want(r.kind != RunKind::base && (interval || reverse || streamed) == (r.state != nullptr), "a run of the wrong kind");
    want(r.deadline == kNever || interval || r.kind == RunKind::interrupt, "a run that cannot end before its time");
    const Frame* below = runs[i - 1].top;
    want((r.kind == RunKind::guarded) == stands_behind(below, Opcode::run_guarded), "a guarded run that nobody waits for");
    want(!streamed || stands_behind(below, Opcode::run_streamed), "a streamed run that nobody waits for");
    if (r.state == nullptr) continue;
    const RunState& state = *r.run_state();
    want(streamed == is_streamed_state(state), "a run with a state of another kind");
    if (streamed) continue;
    want(is_checkpoint_state(state) == interval && can_run(state), "a run with a state of another kind");
    // On a tape it is that of *j; else of a procedure with rules, or of the rule that a sweep has come to.
    const bool waited_for = interval ? stands_behind(below, Opcode::run_act)
                            : state.tape() != nullptr
                                ? stands_behind(below, Opcode::run_open)
                                : stands_behind(below, Opcode::run_apply) || stands_behind(below, Opcode::run_sweep);
    want(waited_for, "a run that nobody waits for");
  }
  if (list.stack != Stack::machine) return;
  // What the machine writes into is nobody else's.
  want(runs.back().top->count == 1, "a frame that runs and is kept");
  for (const Run& r : runs) want(r.state == nullptr || r.state->count == 1, "a state that runs and is kept");
}

// Numbers in numbers: of a depth that arithmetic, which takes them apart, can stand, and that forward mode can make.
void ImageReader::check_bundles() const {
  value::ChargedMap<const value::Bundle*, std::uint32_t> depths{
      value::ChargedAllocator<std::pair<const value::Bundle* const, std::uint32_t>>(engine.heap())};
  auto depth_of = [&](auto& self, const value::Bundle* b, std::uint32_t above) -> std::uint32_t {
    if (auto known = depths.find(b); known != depths.end()) return known->second;
    if (above == value::kMostLevels) throw Malformed("a number of too many levels");
    std::uint32_t depth = 1;
    for (Value v : {b->primal, b->tangent}) {
      if (!Engine::is_leaf(v)) throw Malformed("a bundle of what is no number");
      if (value::is_bundle(v)) depth = std::max(depth, 1 + self(self, value::as_bundle(v), above + 1));
    }
    if (depth > value::kMostLevels) throw Malformed("a number of too many levels");
    depths.emplace(b, depth);
    const_cast<value::Bundle*>(b)->flags = static_cast<std::uint8_t>(depth);
    return depth;
  };
  for (std::size_t i = bundles_.size(); i-- > 0;) depth_of(depth_of, bundles_[i], 0);
}

void ImageReader::check_taped() const {
  for (Value v : taped_)
    if (v.tape_id() >= tape_sizes_.size() || v.tape_node() >= tape_sizes_[v.tape_id()])
      throw Malformed("a number on a tape that is not there");
}

} // namespace cairn::image
