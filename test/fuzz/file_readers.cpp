// Any bytes are a file for any of the readers that programs have (readers.h). Half of the changes are libFuzzer's own, the others
// damage what is there, and now and then a sound file.
#include "test/fuzz/readers.h"

#include <algorithm>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

fuzzing::Readers& readers() {
  static fuzzing::Readers list;
  return list;
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  fuzzing::Random random(seed);
  if (size > 1 && random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const fuzzing::Bytes changed = random() % 4 == 0 ? readers().damaged_input(random, most)
                                                   : readers().damaged_input(std::as_bytes(std::span(data, size)), random, most);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(changed.data()), changed.size(), data);
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  readers().attempt(std::as_bytes(std::span(data, size)));
  return 0;
}
