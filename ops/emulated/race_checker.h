// Looks for work that began too early. What orders work are the tickets of blocks; what is checked here is independent of them:
// by address, from the views that a kernel really gets, the checker remembers who wrote a stretch of memory and who has read it
// since. All that must be done when an operation begins, and not by luck: its stream must have waited for it.
//
// The table is kept by the device's thread when work is added; the threads of streams check with the needs that came out of it.
#pragma once

#include "ops/ordering.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::ops {

// An operation by name. `name` is that of an operator or copy and outlives the device.
struct NamedOperation {
  std::string_view name;
  StreamKind stream = StreamKind::execute;
  Ticket ticket = 0;
};

// What must be done before an operation begins.
struct Need {
  NamedOperation before;
  bool wrote = false;                // `before` did; else it reads
  bool waited = false;               // the tickets see to it
  std::uintptr_t begin = 0, end = 0; // of the block that both use
};

// Mistakes found, by any thread.
class Faults {
public:
  void note(std::string text);
  // Of work that memory was too short for.
  void note_memory(std::string text);
  // The system has refused memory, perhaps for one of those texts.
  void note_refusal() noexcept;
  // Throws std::runtime_error with the first of them, DeviceMemoryExceeded or std::bad_alloc, and forgets all.
  void raise();

private:
  std::atomic<std::uint64_t> count_ = 0;
  std::mutex mutex_;
  std::string first_;
  enum class Kind : std::uint8_t { fault, memory, refusal };
  void note(std::string text, Kind kind) noexcept;
  Kind kind_ = Kind::fault; // of the first
};

class RaceChecker {
public:
  // Notes that `operation`, known as `name`, uses [begin, end) of the block, and adds what must be done before.
  void use(const Operation& operation, std::string_view name, const Block& block, std::uintptr_t begin, std::uintptr_t end,
           bool write, std::vector<Need>& needs);
  // Everything added so far is done.
  void clear() { memory_.clear(); }

private:
  struct Extent {
    std::uintptr_t end;
    NamedOperation writer;
    std::array<NamedOperation, kStreams> readers;
  };
  using Position = std::map<std::uintptr_t, Extent>::iterator;
  Position split(std::uintptr_t at);
  std::map<std::uintptr_t, Extent> memory_;
};

// What is wrong, for people.
std::string describe(const NamedOperation& later, const Need& need, bool done);

} // namespace cairn::ops
