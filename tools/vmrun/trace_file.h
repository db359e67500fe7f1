// --trace-file: what a device did in its virtual time, as Perfetto and chrome://tracing read it: Chrome's trace event format, an
// array of events. They are written as they come, so a long run keeps none of them; what a run that was killed has left behind
// lacks the last bracket, which these programs do without.
#pragma once

#include "cairn.h"
#include "common/writing.h"

#include <array>
#include <optional>
#include <string>

namespace cairn::tools {

class TraceFile {
public:
  // Begins the file that is open there.
  void begin(int descriptor, std::string path);
  bool begun() const { return writer_.has_value(); }
  void add(const cairn_trace_event& event);
  // The last bracket, and all of it on the disk. False with a message.
  bool end(std::string& error);

private:
  static constexpr std::size_t kTracks = 5;
  std::size_t track(const char* name);
  void put(const std::string& event);

  std::optional<Writer> writer_;
  std::string path_;
  bool first_ = true;
  std::array<bool, kTracks> named_{}; // the tracks that have something on them
};

} // namespace cairn::tools
