// What people may see of a machine while it runs: where it stands, how far a gradient is, where steps, time and bytes go. Nothing
// of it is part of the state, and nothing of it changes a result.
#pragma once

#include "vm/bytecode/module.h"
#include "vm/value/object.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::machine {

class Engine;

// "FILE:LINE:COLUMN", or FILE alone where the text is not known.
std::string location_text(const text::Source& source, const text::Span& span, bool column = true);

// A procedure of the module by the name that people know: helpers of the library are named after their procedure, %fold-left/3.
std::string known_as(const std::string& name);
// The same for any code; what has no name is named after its location.
std::string name_of(const Engine& engine, const value::Code* code);
// "PROCEDURE at LOCATION" of a frame of the module's that waits for a call.
std::string waiting_text(const Engine& engine, const value::Frame* frame);

// Kept by the executor of the outermost checkpoint-*j.
struct GradientProgress {
  bool active = false;
  std::uint32_t spec = 0;
  std::uint64_t total = 0;                               // steps of the run; 0: not known yet
  std::uint64_t executed = 0;                            // advanced and taped, up to the last action
  std::optional<std::uint64_t> predicted = std::nullopt; // what it will be, 0 if that is not known; nothing: not asked for yet
};

struct Progress {
  bool gradient = false;
  std::uint64_t total = 0, executed = 0, predicted = 0;
};
Progress progress_of(const Engine& engine);

// "LOCATION  PROCEDURE  INSTRUCTION" of the next step.
std::string instruction_text(const Engine& engine);

// Steps, time and bytes by instruction: the machine runs one instruction at a time while it is kept.
class Profile {
public:
  void before(const Engine& engine);
  void after(const Engine& engine);
  // Tables by procedure and by line, the most time first.
  std::string text(const Engine& engine) const;

private:
  struct Counters {
    std::uint64_t steps = 0, nanoseconds = 0;
    std::int64_t bytes = 0; // by which steps made the accounted memory grow
    void add(const Counters& c) {
      steps += c.steps;
      nanoseconds += c.nanoseconds;
      bytes += c.bytes;
    }
  };
  struct Row {
    std::string name;
    Counters counters;
  };
  static void put_table(std::string& out, const char* title, std::vector<Row> rows, const Counters& all);

  std::unordered_map<const value::Code*, std::vector<Counters>> counters_; // by word
  const value::Code* code_ = nullptr;
  std::uint32_t pc_ = 0;
  std::int64_t live_ = 0;
  std::uint64_t clock_ = 0, started_ = 0;
};

} // namespace cairn::machine
