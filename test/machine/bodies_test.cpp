// The machine's own code, in which the frames of capsule files have places.
#include "vm/bytecode/instruction.h"
#include "vm/runs/operators.h"
#include "vm/value/object.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

using namespace cairn;
using bytecode::Word;

TEST_CASE("the bodies of run operators are those of capsule files; who changes them raises the version of the format") {
  std::uint64_t hash = 0xCBF29CE484222325; // FNV-1a, over names of instructions: their numbers may change
  const auto mix = [&hash](std::uint64_t number) { hash = (hash ^ number) * 0x100000001B3; };
  std::size_t bodies = 0, words = 0;
  for (; runs::machine_code(bodies).code != nullptr; ++bodies) {
    const runs::MachineCode own = runs::machine_code(bodies);
    const std::size_t length = own.facts->reached.size();
    words += length;
    for (std::size_t at = 0; at < length;) {
      const Word* const instruction = own.code->words() + at;
      const std::string_view name = bytecode::kOpcodes[static_cast<std::size_t>(bytecode::opcode_of(*instruction))].name;
      for (const char c : name) mix(static_cast<unsigned char>(c));
      mix(*instruction >> 16);
      const std::size_t end = at + bytecode::words_of(*instruction);
      while (++at < end) mix(own.code->words()[at]);
    }
  }
  CHECK(bodies == 21);
  CHECK(words == 159);
  CHECK(hash == 0x92f79bf8d1bed491u);
}
