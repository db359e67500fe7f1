// Any bytes are a streaming plan or refused; a plan can be followed, whatever it says.
#include "test/fuzz/mutator.h"

namespace fuzzing {
const FileKind kMutatedKind = FileKind::plan;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::try_plan(fuzzing::resealed(data, size));
  return 0;
}
