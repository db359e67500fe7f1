// Any bytes are a sound module or refused; a sound module can be run. Length and checksum are made right first, so that inputs
// get further.
#include "test/fuzz/fuzzing.h"
#include "vm/bytecode/bytes.h"
#include "vm/bytecode/file.h"
#include "vm/machine/reseal.h"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLengthAt = 16, kProducerAt = 32, kProducerBytes = 32;
  fuzzing::Bytes bytes = fuzzing::bytes_of(data, size);
  if (size >= kLengthAt + 8) cairn::bytecode::set_u64(bytes, kLengthAt, size);
  std::string error;
  cairn::machine::reseal_file(bytes, error);
  cairn::bytecode::Module module;
  if (!cairn::bytecode::read_module(bytes, module, error)) {
    fuzzing::promise(!error.empty(), "who refuses says why");
    return 0;
  }
  fuzzing::Bytes again = cairn::bytecode::write_module(module);
  std::copy_n(bytes.begin() + kProducerAt, std::min(bytes.size() - kProducerAt, kProducerBytes), again.begin() + kProducerAt);
  cairn::machine::reseal_file(again, error);
  fuzzing::promise(again == bytes, "there is one file for each module, but for who made it");
  fuzzing::Machine machine(fuzzing::bounded(nullptr));
  if (machine.load(std::move(module), error))
    fuzzing::run_to_the_end(machine);
  else
    fuzzing::promise(!error.empty(), "who refuses says why");
  return 0;
}
