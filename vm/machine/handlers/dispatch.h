// The table of handlers, and the way into the loop and out of it. Last: `Engine::dispatch` for one value of CAIRN_TAPED.
#include "vm/machine/handlers/control.h"
#include "vm/machine/handlers/numbers.h"
#include "vm/machine/handlers/others.h"
#include "vm/machine/handlers/procedures.h"
#include "vm/machine/handlers/values.h"

#include <algorithm>
#include <iterator>

namespace cairn::machine {

namespace {

constexpr Handler kHandlers[] = {
#define X(name, roles, traits, text) op_##name,
#include "vm/bytecode/opcodes.def"
#undef X
};

// Every entry of the tables of a machine that is suspended.
RARE(leave_loop) {
  SAVE();
  throw ops::Cancelled{};
}

} // namespace

template <> void Engine::set_handlers<CAIRN_TAPED>(bool suspended) {
  Handler* const own = handlers[CAIRN_TAPED ? 1 : 0];
  if (suspended)
    std::fill_n(own, std::size(kHandlers), leave_loop);
  else
    std::copy_n(kHandlers, std::size(kHandlers), own);
}

template <> Engine::Exit Engine::dispatch<CAIRN_TAPED>() {
  const Handler* const own = handlers[CAIRN_TAPED ? 1 : 0];
  Run& run = runs.back();
  loop.run = &run;
  loop.tape = run.tape;
  loop.epoch = run.epoch;
  loop.constants = loaded.constants.data();
  loop.codes = loaded.codes.data();
  std::uint64_t steps = std::min<std::uint64_t>(std::min(run.least_deadline, pause) - clock, std::uint64_t{1} << 62);
  loop.end = clock + steps;
  loop.frame = run.top;
  loop.pc = run.top->next();
  loop.left = static_cast<std::int64_t>(steps) - 1;
#if CAIRN_JUMPS
  return own[field(loop.pc, 0)](this, loop.frame, loop.pc, loop.left, own);
#else
  for (;;) {
    Exit exit = own[field(loop.pc, 0)](this, loop.frame, loop.pc, loop.left, own);
    if (exit != Exit::next) return exit;
  }
#endif
}

} // namespace cairn::machine
