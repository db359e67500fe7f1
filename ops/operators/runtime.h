// Applying operators to tensors. See runtime.cpp.
#pragma once

#include "ops/operator.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace cairn::ops {

// Tensors come to life here: shape rules, storage, views, launches.
class Runtime {
public:
  explicit Runtime(Device& default_device) : default_(&default_device) {}
  Device& default_device() const { return *default_; }
  void set_default_device(Device& device) { default_ = &device; }

  // Applies an operator. inputs[i] may be consumed: given up by the caller, so that its memory may be used again if nobody else
  // has it (the span is written). How many results there are; `outputs` has room for kMostResults, or for as many as there must
  // be. Throws OperatorError, or what making storage throws; nothing has changed then.
  unsigned apply(const Operator& op, std::span<Tensor> inputs, std::span<const bool> consumed, const Attributes& attributes,
                 std::span<Tensor> outputs);
  // For rules: one result, nothing consumed.
  Tensor apply(OperatorId op, std::initializer_list<Tensor> inputs, const Attributes& attributes = {});

  // In place of what apply() would give, where nobody will look at its elements: nothing is computed, and each result has its
  // type and sizes, and one zero for all elements.
  unsigned zeros_in_place_of(const Operator& op, std::span<const Tensor> inputs, const Attributes& attributes,
                             std::span<Tensor> outputs);

  Tensor empty(DType dtype, const Shape& shape, Device& device);
  // to = to + from, in the memory of one of them if nobody else has it and it is dense.
  void accumulate(Tensor& to, Tensor from);
  // Type and shape of each result of a call, by descriptions of its inputs. Throws OperatorError as apply() does.
  static ResultTypes inferred(const Call& call);
  // The work that apply() counts for such a call with such results, whether they have elements or not.
  static std::uint64_t modelled_work(const Call& call, std::span<const Tensor> results);
  static Cost modelled_cost(const Call& call, std::span<const Tensor> results);
  // The work that accumulate() will count for these two.
  static std::uint64_t work_to_accumulate(const Tensor& to, const Tensor& from);
  // Whether a rule's part may be added onto this sum: dense, of the type and the shape of the operand, where the operators are.
  static bool can_add_onto(const Tensor& sum, const Tensor& operand);
  // The sum with such a part, in its own memory if nobody else has that. If it throws, the sum is as it was.
  void add_onto(Tensor& sum, AddedOnto part);
  static std::uint64_t work_to_add_onto(const Tensor& sum, const AddedOnto& part);

  // Elements of the host's: row-major, so many bytes; read waits for what is queued.
  Tensor from_host(DType dtype, const Shape& shape, Device& device, const void* data);
  void read(const Tensor& t, void* data); // row-major
  // As doubles, row-major.
  std::vector<double> read_numbers(const Tensor& t);
  double read_number(const Tensor& t); // of one element
  Tensor to_device(const Tensor& t, Device& device);
  // The same for a tensor that is given up: between a device and what streams to it nothing is copied then, if nobody else has
  // its elements.
  Tensor moved_to(Tensor t, Device& device);
  // The operator cast.
  Tensor cast(const Tensor& t, DType type);

private:
  void check_indices(const Call& call);
  Device* default_;
};

} // namespace cairn::ops
