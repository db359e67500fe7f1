// Copies of values at the borders of derivative operators (docs/design.md 5.4): as a tree (each path its own place) or as a graph
// (sharing kept). All iterative.
#pragma once

#include "vm/machine/engine.h"

#include <functional>
#include <vector>

namespace cairn::runs {

using machine::Engine;
using machine::Run;
using machine::Tape;
using tape::Place;
using value::Heap;
using value::Value;

// A number or tensor met while copying: what the slot holds (borrowed), and whose slot it is (null for the root). Returns an
// owned value.
using Leaf = std::function<Value(Value number, value::Object* owner, std::uint32_t slot)>;

// True if a walk that enters every object once meets this one once in any case, so that it need not be remembered.
inline bool met_once(const value::Object* o) { return o->count == 1; }

// strip: a graph, in which the runs of derivative operators inside capsules are copied too, under the serials they had (what
// their operators know of them stays true); otherwise those runs are shared.
enum class Sharing { tree, graph, strip };

// A copy of v with every number replaced by leaf(...), in preorder: car before cdr, elements and captures in order. Pairs,
// vectors, closure blocks, and capsules with their frames are copied; everything else is shared. Recorded tensors, which have no
// numbers to be replaced, are refused, or stopped where that is all that is asked for.
Value copy_value(Engine& engine, Value v, Sharing sharing, const Leaf& leaf, bool stops = false);

// Does a number or tensor for which `is` holds occur in v (inside pairs, vectors, closures, capsules)?
bool contains(Heap& heap, Value v, const std::function<bool(Value)>& is);

// A copy of runs without the numbers of `tape`: their primals instead, the same serials. Only what is newer than the tape, or
// lifted by it, is copied; the rest is shared.
std::vector<Run> without_tape(Engine& engine, const std::vector<Run>& runs, const Tape& tape);

// Walks v and its (co)tangent t together: numbers of v in preorder with their parts of t. An exact 0 in t stands for any part;
// walk_pair passes over what it stands for. Throws ProgramError where the shapes differ; `what` names t: "*j: the cotangent".
struct PairedLeaf {
  Value number;         // borrowed; slot content
  Value part;           // borrowed; a number, or exact 0
  value::Object* owner; // of the slot; null for the root
  std::uint32_t slot;
  value::Object* part_owner; // likewise for the part
  std::uint32_t part_slot;
};
// once: a shared object of v counts once, not once for every path. what null: an exact 0 in v matches any part and is passed
// over, and a tensor of one element may be the part of a number.
void walk_pair(Engine& engine, Value v, Value t, const char* what, bool once, const std::function<void(const PairedLeaf&)>& leaf);

// Walks v and what belongs to it together: every leaf of v in preorder with its part of t, whatever that is. An exact 0 in the
// place of a container stands for one of zeros. Throws ProgramError where the shapes differ, and where v has a capsule.
void walk_beside(Engine& engine, Value v, Value t, const char* what, const std::function<void(const PairedLeaf&)>& leaf);

// A tree copy of v, numbers replaced by leaf(number and its part of t).
Value copy_paired(Engine& engine, Value v, Value t, const char* what, const std::function<Value(const PairedLeaf&)>& leaf);

} // namespace cairn::runs
