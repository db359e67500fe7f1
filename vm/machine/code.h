// Functions of bytecode as code that frames can stand in.
#pragma once

#include "vm/bytecode/verifier.h"
#include "vm/value/object.h"

namespace cairn::machine {

// A verified function, copied; its facts must outlive it. `module`: the LoadedModule, or null for the machine's own.
value::OwnedCode code_of(const bytecode::Function& function, const bytecode::FunctionFacts& facts, std::uint32_t number,
                         const void* module);

} // namespace cairn::machine
