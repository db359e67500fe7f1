// Any bytes are a machine in the middle of its work or refused; a machine can go on and be saved again.
#include "test/fuzz/fuzzing.h"
#include "vm/machine/reseal.h"
#include "vm/value/heap.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::Bytes bytes = fuzzing::bytes_of(data, size);
  std::string error;
  cairn::machine::reseal_file(bytes, error);
  fuzzing::Machine machine(fuzzing::bounded(nullptr));
  bool accepted = false;
  try {
    accepted = machine.restore(bytes, error);
  } catch (const cairn::value::BudgetExceeded& e) {
    error = e.what();
  }
  if (accepted) {
    fuzzing::run_to_the_end(machine);
  } else {
    fuzzing::promise(!error.empty(), "who refuses says why");
    fuzzing::promise(machine.drop_everything() == 0, "nothing is left of what was refused");
  }
  return 0;
}
