// Tensors in a machine: its devices, and operators applied to values. Whatever the values are - plain, on a tape, of forward
// levels - there is one way in, so that every rule holds for every mode.
#pragma once

#include "ops/operator.h"
#include "ops/operators/runtime.h"
#include "ops/streaming/device.h"
#include "vm/machine/read_ahead.h"
#include "vm/machine/run.h"
#include "vm/machine/tiff_pieces.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::bytecode {
enum class TensorProcedure : std::uint16_t;
} // namespace cairn::bytecode

namespace cairn::machine {

class Engine;

// It was no budget of the machine's: a device has no room.
struct DeviceFull : value::BudgetExceeded {
  using BudgetExceeded::BudgetExceeded;
};

// The devices of one machine. Their memory is charged to the heap's account of tensors.
class TensorWorld final : public ops::Ledger {
public:
  TensorWorld(value::Heap& heap, ops::Meter& meter);
  ~TensorWorld() override;
  // Elements of the processor's tensors may go to that file while only idle references have them.
  void spill_to(std::unique_ptr<ops::SpillFile> file);
  void charge(std::int64_t bytes, std::int64_t beside) override { heap_.charge(heap_.tensors, bytes, beside); }
  ops::Meter* meter() override { return &meter_; }
  std::int64_t headroom() override { return heap_.headroom(); }
  // What was read ahead, or the oldest of what waits for the file, one after the other, so it is no matter how far a disk is. A
  // device that streams gives nothing up within a launch.
  bool make_way_for_scratch() override { return heap_.budget() != 0 && (give_up_reads() || cpu_->make_way(1) != 0); }
  // What was read before it is wanted, or again.
  bool give_up_reads() noexcept {
    const bool pieces = tiff_pieces.give_up();
    return ahead.give_up() || pieces;
  }
  void note_scratch(std::int64_t bytes) override { heap_.scratch_peak = std::max(heap_.scratch_peak, bytes); }
  [[noreturn]] void refuse_scratch(std::string_view op, std::int64_t bytes) override {
    heap_.over_budget(bytes, " of scratch memory for " + std::string(op));
  }
  // By name, by kind, which means the first of that kind, or by role: "gpu" means the accelerator that was asked for, "streaming"
  // what streams to it, or the accelerator where nothing can. If there is none, find() gives null and device() throws
  // ProgramError.
  ops::Device* find(std::string_view name);
  ops::Device& device(std::string_view name);
  ops::Device& cpu() { return *cpu_; }
  // What made the memory that is held, of each device the largest first: for the message of an exceeded budget, and for reports.
  struct Maker {
    const ops::Device* device = nullptr;
    std::string text; // "PROCEDURE at LOCATION"
    std::int64_t bytes = 0;
    std::uint64_t storages = 0;
  };
  std::vector<Maker> makers(const Engine& engine) const;
  std::string holders(const Engine& engine) const;
  // Bytes of elements on all devices, wherever these have them.
  std::int64_t live_bytes() const;
  // Of these, what goes to the file of --spill, or back to it, when memory is short.
  std::int64_t can_make_way() const;
  // The instruction that makes what is allocated from now on: the frame's; null: none of the program.
  void set_maker(const Engine& engine, const value::Frame* frame);
  // In place of the processor for everything that does not name a device.
  void add_accelerator(std::unique_ptr<ops::Device> device);
  // One more, which programs may name; std::runtime_error: one of that name is there, or tensors are to stream to it.
  void add_other(std::unique_ptr<ops::Device> device);
  const std::vector<std::unique_ptr<ops::Device>>& others() const { return others_; }
  // Null where there is none.
  ops::streaming::StreamingDevice* streaming() { return streaming_.get(); }
  const ops::streaming::StreamingDevice* streaming() const { return streaming_.get(); }
  const ops::Backing* backing() const { return streaming_ == nullptr ? nullptr : accelerator_->backing(); }
  ops::Backing* backing() { return streaming_ == nullptr ? nullptr : accelerator_->backing(); }

private:
  std::vector<ops::Device*> devices() const;

  value::Heap& heap_;
  ops::Meter& meter_;
  std::unique_ptr<ops::Device> cpu_, accelerator_;
  std::unique_ptr<ops::streaming::StreamingDevice> streaming_; // from the host's memory to the accelerator
  std::vector<std::unique_ptr<ops::Device>> others_;

public:
  ops::Runtime runtime;
  ReadAhead ahead; // into memory of the processor
  TiffPieces tiff_pieces;
};

namespace tensors {

// The operands of an operator, taken apart by its signature.
struct Operands {
  bool differentiable(std::size_t i) const { return i >= 64 || (constants >> i & 1) == 0; }
  std::vector<Value> inputs;   // borrowed; tensors and numbers in order, the members of lists in their place
  std::uint64_t constants = 0; // inputs that no derivative passes through, as bits; members of lists never
  std::uint64_t consumed = 0;  // inputs whose memory may be used, as bits; members of lists never
  bool unread = false;         // nobody but the reverse rule will look at the result
  ops::Attributes attributes;
};

// Is it a tensor, or a number of forward levels whose primal is one?
inline bool is_tensor_like(Value v) {
  while (value::is_bundle(v)) v = value::as_bundle(v)->primal;
  return value::is_kind(v, value::Kind::tensor);
}

// All borrowed, results owned. `consumed`: by operand, whether the caller gives it up after a success, so that its memory may be
// used. Several results come as a list. Throws ProgramError and BudgetExceeded.
Value apply(Engine& engine, ops::OperatorId op, std::span<const Value> operands, std::uint64_t consumed = 0);
// The same where nobody but the reverse rule will look at the result. Where that rule does not either, nothing is computed: what
// comes has the type and the sizes of the result, and one zero for all elements.
Value apply_unread(Engine& engine, ops::OperatorId op, std::span<const Value> operands);
// The operator behind an instruction of arithmetic, for operands of which one is a tensor.
Value binary(Engine& engine, bytecode::Opcode op, Value x, Value y, std::uint64_t consumed = 0);
Value unary(Engine& engine, bytecode::Opcode op, Value x, std::uint64_t consumed = 0);
// The operator behind a primitive, floor and its kind; nothing if there is none.
std::optional<ops::OperatorId> operator_behind(bytecode::Primitive primitive);
// Procedures between tensors and other values.
// `consumed`: by operand, as of apply().
Value procedure(Engine& engine, bytecode::TensorProcedure which, std::span<const Value> operands, std::uint64_t consumed);
// Those of files.
Value file_procedure(Engine& engine, bytecode::TensorProcedure which, std::span<const Value> operands);

// From a number to a tensor without axes and back, as list->tensor and tensor->number do it (owned). Exact integers become i64.
Value tensor_of_number(Engine& engine, Value number);
Value number_of_tensor(Engine& engine, Value tensor);

// A new object for the same elements (owned): another place on a tape.
Value alias(Engine& engine, Value tensor);
Value zeros_like(Engine& engine, Value tensor);
// Same type, shape and numbers, as eqv? sees numbers.
bool same(Engine& engine, Value a, Value b);
// A (co)tangent of a tensor must be a tensor of its shape; it is given the type of the primal (owned). `what` names it.
Value fitted(Engine& engine, Value part, Value primal, const char* what);

// The number that a weak tensor stands for.
Value number_of(const ops::Tensor& weak);
// A number without tape and levels as operators see it.
ops::Tensor weak(const Engine& engine, Value number);
// The reverse rule of the record that is swept next on the tape.
void sweep(Engine& engine, Tape& tape);
// What check_nan throws.
struct NotANumber : ProgramError {
  NotANumber(std::string_view who, std::string_view where, std::int64_t element, const ops::Shape& shape);
  std::string who, shape;
  std::int64_t element;
};
// With the option check_nan: an error in the name of `who` if the tensor has a NaN.
void check_nan(Engine& engine, std::string_view who, const ops::Tensor& t, std::string_view where = "");
// Adds to the cotangent of a node.
void accumulate(Engine& engine, Tape& tape, std::uint32_t node, ops::Tensor cotangent);

} // namespace tensors

} // namespace cairn::machine
