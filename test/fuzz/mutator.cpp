// See mutator.h. Includes the functions by which libFuzzer calls it.
#include "test/fuzz/mutator.h"

#include "vm/bytecode/bytes.h"

#include <algorithm>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace fuzzing {

Bytes resealed(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLengthAt = 16;
  Bytes bytes = bytes_of(data, size);
  if (kMutatedKind == FileKind::module && size >= kLengthAt + 8) cairn::bytecode::set_u64(bytes, kLengthAt, size);
  reseal(bytes, kMutatedKind);
  return bytes;
}

namespace {

const std::vector<Original>& originals() {
  static const std::vector<Original>* list = [] {
    auto* made = new std::vector<Original>; // for as long as the process
    for (Bytes& file : seeds(kMutatedKind)) made->emplace_back(std::move(file), kMutatedKind);
    return made;
  }();
  return *list;
}

} // namespace

} // namespace fuzzing

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  using namespace fuzzing;
  Random random(seed);
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const Original& donor = originals()[random() % originals().size()];
  const Bytes changed =
      random() % 4 == 0 ? donor.changed(random, donor) : Original(resealed(data, size), kMutatedKind).changed(random, donor);
  const std::size_t kept = std::min(changed.size(), most);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(changed.data()), kept, data);
  return kept;
}
