// Tensors: shape, strides and offset over counted storage on a device. A Tensor is a value: copying one shares its storage.
// Counts are not atomic: tensors belong to the thread of their machine; what other threads work on are blocks of memory, ordered
// by tickets.
#pragma once

#include "ops/dtype.h"
#include "ops/shape.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace cairn::ops {

class Device;
struct Block;
struct Spilled;

// Memory that tensors share. Made by Device::make_storage, given back when the last tensor lets go of it.
struct Storage {
  std::uint32_t count = 0;
  std::uint32_t idle = 0; // of these references, those that will not be followed for some time (Device::set_idle)
  Device* device = nullptr;
  std::int64_t bytes = 0;
  // Where the elements are, and the only way to them. Those that lie in a file (Device::spill_to) come back first: that waits,
  // and throws what asking for memory throws, Cancelled, and SpillError. They stay until all references are idle again.
  Block& block() {
    if (spilled_ != nullptr) [[unlikely]]
      bring_back();
    return *block_;
  }
  // To be overwritten: nothing in a file is a copy of them any more.
  Block& block_to_write() {
    if (spilled_ != nullptr) [[unlikely]]
      bring_back_alone();
    return *block_;
  }
  // Who made it, for reports of what holds the memory: whatever Device::maker was then.
  const void* maker_code = nullptr;
  std::uint32_t maker_pc = 0;
  bool aside = false; // somebody puts these elements by while they are not read, and they may be few (Device::kLeastAside)
  // The serial of the first tensor object that had these elements, new ones also where an operand's memory was reused: equal in
  // every replay. 0: no object had them yet.
  std::uint64_t birth = 0;
  // Memory of the host's: nobody here writes it, and it goes back by this call.
  void (*release)(void* context) = nullptr;
  void* release_context = nullptr;
  Storage* previous = nullptr; // in the device's list of what lives
  Storage* next = nullptr;

private:
  friend class Device;
  void bring_back();
  void bring_back_alone();
  Block* block_ = nullptr; // owned by the device; null where the elements are in a file alone
  Spilled* spilled_ = nullptr;
};

class StorageRef {
public:
  StorageRef() = default;
  explicit StorageRef(Storage* s) : storage_(s) { hold(); }
  StorageRef(const StorageRef& o) : storage_(o.storage_) { hold(); }
  StorageRef(StorageRef&& o) noexcept : storage_(std::exchange(o.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef o) noexcept {
    std::swap(storage_, o.storage_);
    return *this;
  }
  ~StorageRef() {
    if (storage_ != nullptr && --storage_->count <= storage_->idle) [[unlikely]]
      let_go(storage_);
  }
  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }
  bool unique() const { return storage_ != nullptr && storage_->count == 1 && storage_->release == nullptr; }

private:
  void hold() {
    if (storage_ != nullptr) ++storage_->count;
  }
  static void let_go(Storage* storage); // nobody holds it any more, or only idly
  Storage* storage_ = nullptr;
};

struct Tensor {
  DType dtype = DType::f32;
  bool weak = false;  // a number of the program, in `number`: no storage, no axes
  bool exact = false; // that number is an exact integer
  Shape shape;
  std::array<std::int64_t, kMostAxes> strides{}; // in elements
  std::int64_t offset = 0;                       // in elements, of the first one
  double number = 0;                             // or, of one with elements, what is said of its factors (ops/operators/lossy.h)
  StorageRef storage;
  Device* home = nullptr; // of a description: where the tensor is

  bool empty() const { return !weak && !storage; } // no tensor at all, or only the description of one
  int rank() const { return shape.rank(); }
  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const; // OperatorError if that does not fit
  Device* device() const { return storage ? storage->device : home; }
  // Elements in row-major order without gaps.
  bool contiguous() const;
  // Every element of a stretch of memory once, in whatever order of axes.
  bool dense() const;
};

Tensor weak_number(double number, bool exact);
// Row-major strides for the shape.
void set_contiguous(Tensor& t);
// The same description without storage.
Tensor description(Tensor t);
// The strides of a pointwise result: those that its operands share (channels that lie last stay there) where these lie without
// gaps, or row-major ones. Numbers, and operands that are stretched to its shape, as what is added to each channel, are not
// asked.
void set_shared_layout(Tensor& result, std::span<const Tensor> operands);
// The axes in the order in which elements lie in memory, the outermost first.
std::array<int, kMostAxes> axes_in_memory(const Tensor& t);

} // namespace cairn::ops
