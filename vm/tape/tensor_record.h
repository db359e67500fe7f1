// What a tape keeps of an operation on tensors: what its reverse rule asks for, and nothing else. To the tape it is a record
// among the scalar ones, with a node for each result; its operands may be tensors or numbers.
#pragma once

#include "ops/operator.h"
#include "vm/tape/kept_tensors.h"
#include "vm/value/heap.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn::tape {

// Tapes are made lean level by level: what may be computed again at level 1 costs little, and more at the next ones.
inline constexpr std::uint8_t kLeanLevels = 3;
// So many operations one behind the other at most are computed again at each level, since the sweep calls itself for each.
inline constexpr std::array<std::uint8_t, kLeanLevels> kDeepest = {12, 24, 36};
// And so many where a tape does without them from the start. It knows no level above the first.
inline constexpr std::uint8_t kDeepestAtOnce = 24;
// Whether a result that was computed again may go is looked up among so many operations behind it.
inline constexpr std::ptrdiff_t kLooksAhead = 64;
// Results smaller than this are not worth the rest of an operation.
inline constexpr std::uint64_t kLeastAgain = 4096;

// Shared between copies of a tape, so it never changes.
struct TensorRecord {
  enum class Kind : std::uint8_t {
    leaf,     // an argument of *j: nothing behind it
    apply,    // an operator
    identity, // a second place for its operand
    pack,     // a tensor made of numbers, operands in row-major order; those that are not on the tape are kNone
    unpack,   // the numbers of a tensor: its elements are the `count` nodes behind it, in row-major order
    host,     // an operator of the host's, number `count` among its procedures; everything is kept
    count_
  };
  Kind kind = Kind::apply;
  std::uint32_t node = 0; // of the first result; the others follow
  std::uint32_t results = 1;
  std::uint64_t serial = 0; // of the first result's object; the others follow. unpack: not smaller than those before it
  std::uint32_t count = 0;
  std::uint8_t level = 0; // of lean tapes, from which on the results may be computed again; 0: they never are
  // At each level, operations that are computed again one behind the other where these results are, this one included.
  std::array<std::uint8_t, kLeanLevels> links{};
  // Of computing the results again, in ticks of modelled time, where a lean tape may let go of them; else 0.
  std::uint64_t cost = 0;
  bool encoded_small = false; // what is kept in place of the first operand is in the small form
  const ops::Operator* op = nullptr;
  ops::Attributes attributes;
  std::vector<std::uint32_t> operands; // nodes by input; kNone: a constant
  KeptTensors inputs, outputs;         // with storage where they are kept, else descriptions
  KeptTensors smaller; // what is kept in place of all that the rule asks for (ops::SmallerForm), or of the first operand
                       // (ops::LossyKind), or none

  explicit TensorRecord(value::Heap& heap) : heap_(&heap) {}
  ~TensorRecord() { heap_->charge(heap_->tape, -charged_); }
  TensorRecord(const TensorRecord&) = delete;
  TensorRecord& operator=(const TensorRecord&) = delete;
  // That it takes itself, without elements: the same in every replay.
  std::uint64_t own_bytes() const {
    return sizeof *this + operands.size() * sizeof(std::uint32_t) + attributes.values.size() * sizeof(ops::Attribute) +
           static_cast<std::uint64_t>(inputs.bytes() + outputs.bytes() + smaller.bytes());
  }
  // With the elements of its results, kept or not, and what stands beside them.
  std::uint64_t weight() const {
    return kind == Kind::leaf ? 0 : own_bytes() + outputs.element_bytes() + outputs.size() * ops::kBesideElements;
  }
  // With the elements that it keeps of what was made from that serial on.
  std::uint64_t kept_weight(std::uint64_t since) const {
    return kind == Kind::leaf ? 0
                              : own_bytes() + inputs.kept_bytes(since) + outputs.kept_bytes(since) + smaller.kept_bytes(since);
  }
  // The lists of what is kept.
  std::array<const KeptTensors*, 3> kept() const { return {&inputs, &outputs, &smaller}; }
  // Whether the sweep asks for that operand as it was: its rule does, and nothing stands in its place.
  bool asks_for(std::size_t input) const {
    return ops::keeps_input(*op, input) && (smaller.size() == 0 || (input != 0 && is_lossy()));
  }
  // The same of a result. With a normalised operand the variance is asked for.
  bool asks_for_result(std::size_t result) const {
    return (result == 0 && (op->keep & ops::kKeepOutput) != 0 && (smaller.size() == 0 || is_lossy())) ||
           (result == 2 && op->lossy == ops::LossyKind::batch_normalization && is_lossy());
  }
  // Whether what is kept in place of the first operand is an encoding of it with a bounded error.
  bool is_lossy() const { return smaller.size() != 0 && op->smaller == nullptr; }
  // Whether the sweep reads it.
  bool asks_for_encoding() const;
  // Before it is put on a tape. Elements are charged to their device, not here.
  void account() {
    auto bytes = static_cast<std::int64_t>(sizeof *this + operands.capacity() * sizeof(std::uint32_t) +
                                           attributes.values.capacity() * sizeof(ops::Attribute)) +
                 inputs.bytes() + outputs.bytes() + smaller.bytes();
    heap_->charge(heap_->tape, bytes - charged_);
    charged_ = bytes;
  }
  std::uint32_t end() const { return node + results; }

private:
  value::Heap* heap_;
  std::int64_t charged_ = 0;
};

// Whether it keeps that tensor, with all its elements.
bool keeps_whole(const TensorRecord& record, std::uint32_t node);
// Something smaller may be kept in place of what it keeps when so many operations behind it have been recorded.
inline constexpr std::size_t kDecidedBehind = 2;
// Whether that can be, and is not yet.
inline bool may_keep_smaller(const TensorRecord& record) {
  return record.kind == TensorRecord::Kind::apply && record.op != nullptr && record.op->smaller != nullptr &&
         record.smaller.size() == 0;
}

} // namespace cairn::tape
