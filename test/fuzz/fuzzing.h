// What the fuzzed programs share: machines under a small budget whose output is kept, and the promise that nothing is left of
// them.
#pragma once

#include "vm/image/image.h"
#include "vm/print/printer.h"
#include "vm/runs/operators.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace fuzzing {

using cairn::machine::Engine;
using cairn::machine::Status;
using Bytes = std::vector<std::byte>;

// A step may be an operation on a tensor that fills the memory: together they bound how long an input takes.
inline constexpr std::int64_t kMemoryBytes = std::int64_t{1} << 20;
inline constexpr std::uint64_t kSteps = 5'000;

inline void promise(bool holds, const char* what, const std::string& more = {}) {
  if (holds) return;
  std::fprintf(stderr, "BROKEN PROMISE: %s %s\n", what, more.c_str());
  std::abort();
}

inline Bytes bytes_of(const std::uint8_t* data, std::size_t size) {
  const auto* p = reinterpret_cast<const std::byte*>(data);
  return {p, p + size};
}

// Where the machines of all inputs have their memory from: regions go from one to the next, since to map them anew takes longer
// than to run most inputs; large objects are watched by AddressSanitizer.
class Memory {
public:
  static cairn::value::MemorySource source() {
    static Memory* memory = new Memory; // for as long as any machine
    return {allocate, release, memory};
  }

private:
  static constexpr std::size_t kRegionBytes = std::size_t{2} << 20; // and their alignment, which no object has
  static void* allocate(void* self, std::size_t bytes, std::size_t alignment) {
    if (alignment != kRegionBytes) return std::malloc(bytes);
    std::vector<void*>& kept = static_cast<Memory*>(self)->kept_;
    if (kept.empty()) return std::aligned_alloc(alignment, bytes);
    void* region = kept.back();
    kept.pop_back();
    return region;
  }
  static void release(void* self, void* memory, std::size_t /*bytes*/) {
    if (reinterpret_cast<std::uintptr_t>(memory) % kRegionBytes == 0)
      static_cast<Memory*>(self)->kept_.push_back(memory);
    else
      std::free(memory);
  }
  std::vector<void*> kept_;
};

inline bool recycles_regions = true; // not where the memory of the system is tried too

inline cairn::machine::Options bounded(std::string* output) {
  cairn::machine::Options options;
  options.memory_bytes = kMemoryBytes;
  if (recycles_regions) options.memory = Memory::source();
  options.output = [output](std::string_view text) {
    if (output != nullptr && output->size() < 100'000) output->append(text);
  };
  options.input = [](char*, std::size_t) { return std::size_t{0}; };
  return options;
}

// The value of the last form, as `write` prints it.
inline std::string result_text(const Engine& engine) {
  try {
    return cairn::print::abbreviated(engine.result, engine, SIZE_MAX);
  } catch (const cairn::machine::ProgramError& e) { // bytecode that no compiler made may return a number of a tape that is gone
    return std::string("#<") + e.what() + ">";
  }
}

// The objects that are left; counted in debug builds.
inline std::int64_t drop_everything(Engine& engine) {
  engine.drop_everything();
  return engine.heap().live_objects();
}

// Where it stands as a file, unless the budget has no room for the writer's tables.
inline void save(Engine& engine) {
  try {
    promise(!cairn::image::write_image(engine).empty(), "what runs can be saved");
  } catch (const cairn::value::BudgetExceeded&) {
  }
}

// Runs, saves where it stands, and drops everything: whatever the machine was given, none of it may be left.
inline Status run_to_the_end(Engine& engine) {
  Status status = engine.run(kSteps);
  if (status == Status::out_of_steps) save(engine);
  if (status == Status::done) result_text(engine);
  if (status == Status::done || status == Status::out_of_steps) promise(drop_everything(engine) == 0, "nothing is left");
  return status;
}

} // namespace fuzzing
