// The command line of vmrun, checked and turned into values.
#pragma once

#include "cairn.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cairn::tools {

struct RunOptions {
  std::string file;                   // empty with --resume
  std::vector<std::string> arguments; // of the program
  std::string resume;                 // empty: start from the beginning
  std::optional<std::string> checkpoint, lossy;
  std::string device = "cpu";
  std::string costs;             // the text of a table; empty: the built-in one
  std::string spill;             // a folder; empty: none
  std::uint64_t spill_bytes = 0; // 0: what is free there decides
  std::string spill_encoding;    // empty: "auto"
  bool calibrate = false;
  std::string calibrate_file;     // empty: standard output
  std::uint64_t memory_bytes = 0; // 0: the default
  std::uint64_t output_bytes = UINT64_MAX;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> work;
  std::string save;
  std::uint64_t save_every_steps = 0; // 0: not by steps
  double save_every_seconds = 0;      // 0: not by time
  std::string output;                 // empty: standard output
  bool stats = false;
  std::string stats_file; // empty: standard error
  bool explain = false;
  bool explain_profile = false; // the text has the intervals that plans were made of
  std::string explain_file;     // ends in .html or .json; empty: a text on standard error
  bool plan = false;            // the first gradient is only planned
  bool progress = false;
  std::string metrics; // a table of what the program reports; empty: none
  std::string report;  // a page about the run; empty: none
  std::string events;  // a folder for the same as TensorBoard reads it; empty: none
  bool trace = false;
  std::string trace_file; // a timeline of what the device did; empty: none
  bool check_nan = false;
  bool profile = false;
  std::string profile_file; // empty: standard error
  bool verify_only = false;
  std::uint64_t seed = 0;
  std::vector<std::string> libraries;
  std::vector<std::string> readable, writable; // files and folders beside the current one
  std::string again; // of the line that goes on with what --save wrote: --resume, and what is no part of the state
};

// Nothing if all is well; else the exit code, and the user has been told why.
std::optional<int> parse_run_options(int argc, char** argv, RunOptions& options);

// The file in a folder of events that vmrun writes.
std::string events_file(const std::string& folder);

// Lets the machine's programs use the files of the current folder and those that were named, but not write over those that vmrun
// writes. Empty if all is well.
std::string grant_files(const RunOptions& options, cairn_vm* vm);

// What compiling may take: as much as the run, but enough for any program that people write; 0: the compiler's default.
std::uint64_t compiler_memory(const RunOptions& options);

// Where a file for --spill cannot be of use; empty: it can.
std::string spill_warning(const RunOptions& options);

// What to print when a machine could not be made: a wrong value is named after its option.
std::string creation_error(bool bad_argument, std::string_view error);

} // namespace cairn::tools
