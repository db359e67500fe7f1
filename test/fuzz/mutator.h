// How libFuzzer changes modules, capsules and plans: half of the time as it likes, else where their reader finds fields
// (changes.h). Now and then it begins again with a seed.
#pragma once

#include "test/fuzz/trials.h"

namespace fuzzing {

extern const FileKind kMutatedKind;

// Length and checksum are made right first, so that inputs get further.
Bytes resealed(const std::uint8_t* data, std::size_t size);

} // namespace fuzzing
