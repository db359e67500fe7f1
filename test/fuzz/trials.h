// What becomes of the bytes of a module or capsule file or of a streaming plan: read, and if they are accepted, run under a
// budget of steps and memory and saved, or followed. Promises are kept, or the process ends (fuzzing.h). The host has procedures
// that the seeds call.
#pragma once

#include "test/fuzz/changes.h"
#include "test/fuzz/fuzzing.h"

namespace fuzzing {

struct Verdict {
  bool accepted = false;
  bool ran = false; // at least one step, or launch
};

// Machines of the fuzzed programs, with the procedures of their host.
cairn::machine::Options with_hosts(std::string* output);
// Tensors that name no device stream to one that has next to no memory.
cairn::machine::Options streaming(cairn::machine::Options options);

Verdict try_module(const Bytes& file);
Verdict try_capsule(const Bytes& file);
Verdict try_plan(const Bytes& file);
inline Verdict try_file(const Bytes& file, FileKind kind) {
  return kind == FileKind::module ? try_module(file) : kind == FileKind::capsule ? try_capsule(file) : try_plan(file);
}

// Reads it and lets it be.
void try_reading(std::span<const std::byte> file, FileKind kind);

// The compiled programs of programs.scm, or capsules of them after some steps; or plans that were made up.
std::vector<Bytes> seeds(FileKind kind);
std::vector<Bytes> plan_seeds();

} // namespace fuzzing
