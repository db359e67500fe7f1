// Any bytes are a sound module or refused; a sound module can be run.
#include "test/fuzz/mutator.h"

namespace fuzzing {
const FileKind kMutatedKind = FileKind::module;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::try_module(fuzzing::resealed(data, size));
  return 0;
}
