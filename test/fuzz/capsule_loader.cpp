// Any bytes are a machine in the middle of its work or refused; a machine can go on and be saved again.
#include "test/fuzz/mutator.h"

namespace fuzzing {
const FileKind kMutatedKind = FileKind::capsule;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::try_capsule(fuzzing::resealed(data, size));
  return 0;
}
