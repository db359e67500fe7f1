// What walks over objects need so that they can be long: a memory of what they have met, polls, and a count of their work.
#pragma once

#include "vm/machine/engine.h"
#include "vm/value/charged.h"
#include "vm/value/object_numbers.h"
#include "vm/value/value.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace cairn::runs {

// Asks after every few thousand slots of a walk whether it was cancelled.
class Polls {
public:
  explicit Polls(const ops::Meter& meter) : meter_(meter) {}
  void one() {
    if (++count_ % kMany == 0) meter_.poll();
  }

private:
  static constexpr std::uint64_t kMany = 4096;
  const ops::Meter& meter_;
  std::uint64_t count_ = 0;
};

// Counts the slots that a walk looks at as work, their bytes, many at a time, and lets it be stopped: a tree has as many as there
// are paths to what is shared.
class Visits {
public:
  void one() {
    if (++count_ == kMany) finish();
  }
  void finish() { ops::Meter::spend_current(sizeof(value::Value) * std::exchange(count_, 0)); }

private:
  static constexpr std::uint32_t kMany = 1024;
  std::uint32_t count_ = 0;
};

// What stands for each object that a walk has met, null before. A few are in a map. Many are in tables of their neighbourhoods,
// since a map of millions takes tenths of a second to grow and to end.
class Met {
public:
  explicit Met(value::Heap& heap)
      : heap_(heap), few_(value::ChargedAllocator<std::pair<value::Object* const, value::Object*>>(heap)) {}
  value::Object*& operator[](value::Object* o) {
    if (few_.size() < kFew) return few_[o];
    if (auto it = few_.find(o); it != few_.end()) return it->second;
    if (!many_) many_.emplace(heap_);
    const std::uint32_t n = many_->numbers.number(o, static_cast<std::uint32_t>(many_->objects.size()));
    if (n == many_->objects.size()) many_->objects.push_back(nullptr);
    return many_->objects[n];
  }
  // False: it has been met before.
  bool insert(value::Object* o) { return std::exchange((*this)[o], o) == nullptr; }

private:
  static constexpr std::size_t kFew = 1024;
  struct Many {
    explicit Many(value::Heap& heap) : numbers(heap), objects(value::ChargedAllocator<value::Object*>(heap)) {}
    value::ObjectNumbers numbers;
    std::deque<value::Object*, value::ChargedAllocator<value::Object*>> objects; // by number
  };
  value::Heap& heap_;
  value::ChargedMap<value::Object*, value::Object*> few_;
  std::optional<Many> many_;
};

} // namespace cairn::runs
