// Operators: each declared once (docs/design.md, invariant 10). Name, signature and text stand in operators.def; the definition
// here has the shape rule, kernel, derivatives, what reverse mode keeps, and cost. The machine's instruction, its checks, forward
// and reverse mode, tests and documentation come from it.
#pragma once

#include "ops/cost.h"
#include "ops/device.h"
#include "ops/signature.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::ops {

enum class OperatorId : std::uint16_t; // operator_ids.h has the names

// An operand that is no tensor. What an optional one means when absent is the operator's business. Each kind is made in one way
// and stays as it is, so that what rules pass to operators is as well formed as what programs do; of another kind than asked for,
// it has 0, nothing in its list, no device.
class Attribute {
public:
  enum class Kind : std::uint8_t { absent, integer, number, list, device, count };

  Attribute() = default;
  static Attribute of_integer(std::int64_t i) { // K
    Attribute a(Kind::integer);
    a.integer_ = i;
    return a;
  }
  static Attribute of_flag(bool b) { return of_integer(b ? 1 : 0); }                     // B
  static Attribute of_type(DType t) { return of_integer(static_cast<std::int64_t>(t)); } // D
  static Attribute of_number(double d) {                                                 // N
    Attribute a(Kind::number);
    a.number_ = d;
    return a;
  }
  static Attribute of_list(std::vector<std::int64_t> l) { // L
    Attribute a(Kind::list);
    a.list_ = std::move(l);
    return a;
  }
  static Attribute of_list(std::span<const std::int64_t> l) { return of_list(std::vector<std::int64_t>(l.begin(), l.end())); }
  static Attribute of_list(std::initializer_list<std::int64_t> l) { return of_list(std::vector<std::int64_t>(l)); }
  static Attribute of_device(Device& d) { // R
    Attribute a(Kind::device);
    a.device_ = &d;
    return a;
  }

  Kind kind() const { return kind_; }
  bool present() const { return kind_ != Kind::absent; }
  std::int64_t integer() const { return integer_; }
  double number() const { return number_; }
  const std::vector<std::int64_t>& list() const { return list_; }
  Device* device() const { return device_; }

private:
  explicit Attribute(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::absent;
  std::int64_t integer_ = 0;
  double number_ = 0;
  std::vector<std::int64_t> list_;
  Device* device_ = nullptr;
};
struct Attributes {
  std::vector<Attribute> values; // one for each of K L N B D R in the signature; at the end those may be missing that are absent
  std::uint64_t key = 0;         // Z
  const Attribute& operator[](std::size_t i) const {
    static const Attribute absent;
    return i < values.size() ? values[i] : absent;
  }
};

// What an operator is applied to. Tensors in the order of the signature, the members of a V where it stands; numbers given for X
// are weak.
struct Call {
  const Operator& op;
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  Device* default_device;
};

// What a shape rule says of one result.
struct ResultType {
  DType dtype = DType::f32;
  Shape shape;
  Device* device = nullptr;   // null: that of the inputs
  bool channels_last = false; // axis 1 lies closest, the others in their order; else row-major, or as pointwise operands share it
};
inline constexpr unsigned kMostResults = 3;
struct ResultTypes {
  unsigned count = 1;
  std::array<ResultType, kMostResults> types;
  ResultType& operator[](unsigned i) { return types[i]; }
};

class Runtime;

// A part of a cotangent that is zero but for some elements: what adds those to the sum of the parts before it, which is the first
// operand of the operator. Only its elements are looked at, where a tensor of zeros around them would be read and written twice.
struct AddedOnto {
  const Operator* op = nullptr; // null: none
  std::array<Tensor, 2> others; // the operands behind the sum
  unsigned count = 0;           // of them
  Attributes attributes;
};

// The reverse rule is called with what it asked to keep; of everything else `inputs` and `outputs` have descriptions only.
struct VjpCall {
  Runtime& runtime;
  const Operator& op;
  std::span<const Tensor> inputs, outputs;
  std::span<const Tensor> cotangents; // of the outputs, their types and shapes; empty(): absent
  const Attributes& attributes;
  std::span<const bool> wanted; // by input
  std::span<Tensor> results; // by input: the part of its cotangent, of the input's shape (a number's: no axes); may share storage
                             // with a cotangent. Left empty: none
  std::span<Tensor> given = {}; // the cotangents once more, where the rule may take their memory; or empty
  // Not null: this is there in place of what the rule asked to keep, of which it has descriptions only (SmallerForm), or of the
  // first operand (Definition::normalized), and then, if no result is that, its variances are behind it.
  const Tensor* smaller = nullptr;
  AddedOnto* onto = nullptr; // if not null, the first operand's cotangent has a sum, and rules of VjpMemory::onto write here
                             // instead of making a part
};

// What a forward rule computes with: a term is a tensor or number that may itself be differentiated, so rules are compositions of
// operators.
class Algebra {
public:
  virtual ~Algebra() = default;
  // Owned handles. OperatorError.
  virtual std::uint64_t apply(OperatorId op, std::span<const std::uint64_t> terms, const Attributes& attributes) = 0;
  virtual std::uint64_t number(double d) = 0;
  virtual void retain(std::uint64_t term) = 0;
  virtual void release(std::uint64_t term) = 0;
};
class Term {
public:
  Term(double literal) : literal_(literal) {} // implicit: formulas read as they are written
  Term(Algebra& algebra, std::uint64_t owned) : algebra_(&algebra), handle_(owned) {}
  Term(const Term& o) : algebra_(o.algebra_), handle_(o.handle_), literal_(o.literal_) {
    if (algebra_ != nullptr) algebra_->retain(handle_);
  }
  Term& operator=(Term o) noexcept {
    std::swap(algebra_, o.algebra_);
    std::swap(handle_, o.handle_);
    std::swap(literal_, o.literal_);
    return *this;
  }
  ~Term() {
    if (algebra_ != nullptr) algebra_->release(handle_);
  }
  Algebra* algebra() const { return algebra_; }
  std::uint64_t handle() const { return handle_; }
  double literal() const { return literal_; }
  // The handle, given up.
  std::uint64_t take() {
    algebra_ = nullptr;
    return handle_;
  }

private:
  Algebra* algebra_ = nullptr; // null: a literal
  std::uint64_t handle_ = 0;
  double literal_ = 0;
};
Term apply(OperatorId op, std::initializer_list<Term> terms, const Attributes& attributes = {});

struct JvpCall {
  Algebra& algebra;
  const Operator& op;
  std::span<const Term> inputs, outputs;
  std::span<const Term* const> tangents; // by input; null: none
  const Attributes& attributes;
  std::span<Term> results; // by output; what is smaller than the output is broadcast by the caller
};

using Infer = void (*)(const Call& call, ResultTypes& results);
// For views: the result over the storage of the first input, or an empty tensor: the kernel has to copy.
using ViewOf = Tensor (*)(const Call& call, const ResultType& result);
using Vjp = void (*)(const VjpCall& call);
using Jvp = void (*)(const JvpCall& call);
using CostOf = Cost (*)(const Call& call, const ResultTypes& results);
// An operand whose numbers are indices along an axis of this size. Kernels refuse no operand, so the runtime looks at the
// numbers before it launches one (index tensors are small), and refuses what would lie outside of memory.
struct IndexBound {
  unsigned operand;
  std::int64_t size;
};
using IndexBoundOf = IndexBound (*)(const Call& call);

// Which part of each input a part of a result is made of (regions.h).
struct RegionRule;

// Where the reverse rule makes cotangents of operands: beside that of the first result, or in its memory.
enum class VjpMemory : std::uint8_t {
  own,        // in memory of their own, or nobody has said
  shares,     // one of as many elements as the result has is the result's, or a view of it
  parts,      // each is a part of the result's
  last_over,  // one after the other; the last one is written over the result's if nobody else has that, before it is summed
              // where its operand is smaller
  first_over, // all at once, that of the first operand over the result's if nobody else has that
  onto,       // only one, for the first operand, and where that has a sum already it is added to it: AddedOnto
};

// What the reverse rule can do with in place of all that it asks to keep, which is the result or all operands: the result of
// another operator on that.
struct SmallerForm {
  std::string_view text;                                                   // its size, as the page of operators shows it
  OperatorId made_by{};                                                    // see call_for_smaller
  bool (*fits)(const Call& call, std::span<const Tensor> whole) = nullptr; // whether it can be made of such tensors
};

// Operators of whose first operand the tape keeps an encoding with a bounded error, where the program wants that. By what
// programs name.
enum class LossyKind : std::uint8_t {
  none,
  convolution,         // the reverse rule multiplies the operand with a cotangent, for the cotangent of the second one, and does
  product,             // nothing else with it
  batch_normalization, // it is the normalised operand that is encoded: VjpCall::smaller, beside its variances, which stay. Its
  layer_normalization, // own cotangent shows the error, too
  rms_normalization,
  group_normalization,
  count_
};
// What an error of the first operand does to the cotangent of the second one is a matter of products alone.
constexpr bool multiplies_with_cotangent(LossyKind kind) { return kind == LossyKind::convolution || kind == LossyKind::product; }
// The normalised operand, in a layout without gaps, and the variances by which it was, or mean squares, if no result is that.
struct Normalized {
  Tensor operand, variances;
};
using NormalizedOf = Normalized (*)(Runtime& runtime, const Call& call);
// Bounds that an encoding keeps to. Steps of them, and what is left where these are taken off, are far from where numbers of any
// type of elements end.
inline constexpr double kLeastBound = 1e-25, kMostBound = 1e25;

inline constexpr std::uint32_t kKeepOutput = 1u << 31; // the first output
inline constexpr std::uint32_t kKeepInputs = kKeepOutput - 1;
constexpr std::uint32_t keep_input(unsigned i) { return 1u << i; }

// What the file of its family says of an operator.
struct Definition {
  Infer infer = nullptr;
  const RegionRule* regions = nullptr; // null: not known
  Kernel kernel = nullptr;             // null: a view that never copies, or one the runtime performs itself (to_device)
  ViewOf view = nullptr;
  Vjp vjp = nullptr;                    // null: no derivative passes through
  Jvp jvp = nullptr;                    // null, where vjp is not: linear in each of its operands
  std::uint32_t keep = 0;               // what the reverse rule needs
  const SmallerForm* smaller = nullptr; // null: there is none
  LossyKind lossy = LossyKind::none;
  NormalizedOf normalized = nullptr; // not null: this is encoded, not the operand itself
  std::uint32_t may_overwrite = 0;   // the inputs, as in `keep`, whose memory may become that of the first result: if nobody else
                                     // has it, and type and layout are the result's
  bool each_over_its_own = false;    // and that of input i the memory of result i, for each result, in place of any input's
  VjpMemory vjp_memory = VjpMemory::own;
  IndexBoundOf indices = nullptr; // null: no operand holds indices
  bool in_shared_layout = false;  // the result lies as its operands do: set_shared_layout
  bool borrows = true;            // its kernel may take scratch memory; false: none that a meter hears of
  CostOf cost = nullptr;          // null: a flop an element of the result, the bytes of all operands
};

// A definition together with its row of operators.def.
struct Operator : Definition {
  OperatorId id{};
  std::string_view name, text;
  Signature signature;
};

// Does the reverse rule ask for input i? The mask has bits for 31 inputs; of longer lists all members are kept, or none.
inline bool keeps_input(const Operator& op, std::size_t i) {
  return i < 31 ? (op.keep & keep_input(static_cast<unsigned>(i))) != 0 : (op.keep & kKeepInputs) != 0;
}

// Does nobody need the result for a derivative alone? The reverse rule does not read it, nothing smaller is kept that is made of
// it, and no indices are checked while it is made.
inline bool result_stays_unread(const Definition& op) {
  return (op.keep & kKeepOutput) == 0 && op.smaller == nullptr && op.normalized == nullptr && op.indices == nullptr;
}

// What an operator with a smaller form keeps: its result or its operands.
inline bool keeps_smaller_output(const Operator& op) { return op.smaller != nullptr && (op.keep & kKeepOutput) != 0; }
inline bool keeps_smaller_inputs(const Operator& op) { return op.smaller != nullptr && (op.keep & kKeepOutput) == 0; }
inline std::span<const Tensor> kept_whole(const Operator& op, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  return keeps_smaller_output(op) ? outputs.first(1) : inputs;
}

// As messages name it: + for %add.
std::string_view shown_name(const Operator& op);

} // namespace cairn::ops
