// The back of the compiler from end to end: tree, passes, A-normal form, liveness, code.

#include "compiler/back/big_stack.h"
#include "compiler/back/builder.h"
#include "compiler/back/emitter.h"
#include "compiler/back/liveness.h"
#include "compiler/back/loads.h"
#include "compiler/back/simplify.h"

namespace cairn::compiler {

using namespace back;

namespace {

Unit make_unit(const Program& program, const Options& options) {
  Tree tree = make_tree(program);
  Globals globals(program, tree, options.level);
  globals.mark_stored(tree);
  if (options.level > 1) {
    simplify(tree, globals);
    globals.mark_stored(tree);
  }
  Unit unit = build_unit(tree, globals, classify_locals(tree, options.level > 0), options.level);
  std::vector<bool> constant_globals;
  for (std::uint32_t g = 0; g < program.globals.size(); ++g) constant_globals.push_back(globals[g].once);
  for (AnfFunction& f : unit.functions) {
    if (options.level > 1) {
      share_loads(f, constant_globals);
      sink_captures(f);
      delay_updates(f, unit);
    }
    find_last_uses(f);
  }
  return unit;
}

bytecode::Module make_module(const Program& program, const Options& options) {
  Unit unit = make_unit(program, options);
  bytecode::Module module;
  for (const Global& g : program.globals) module.globals.emplace_back(g.name, g.library);
  if (module.globals.size() > 0xFFFF)
    throw Failure{{program.globals.back().span, "the program has too many top-level names"}, {}};
  module.sources = program.sources;
  if (unit.functions.size() > 0xFFFF || unit.groups.size() > 0xFFFF)
    throw Failure{{unit.functions.back().span, "the program has too many procedures"}, {}};
  ConstantPool constants(module);
  for (const AnfFunction& f : unit.functions) module.functions.push_back(emit_function(f, unit, constants));
  module.groups = std::move(unit.groups);
  module.entry = unit.entry;
  return module;
}

// Does the work on this stack or on a larger one, and completes what is thrown.
template <class Result, class Work> Result guarded(const Program& program, Work work) {
  try {
    Nesting deepest = nesting(program);
    if (deepest.depth <= kShallow) return work();
    Result result;
    if (!on_big_stack(deepest.depth, [&] { result = work(); }))
      throw Failure{{deepest.span, "nested too deeply for the memory there is"}, {}};
    return result;
  } catch (Failure& failure) {
    if (failure.sources.empty()) failure.sources = program.sources;
    throw;
  }
}

} // namespace

bytecode::Module generate(Program program, const Options& options) {
  return guarded<bytecode::Module>(program, [&] { return make_module(program, options); });
}

std::string intermediate_text(Program program, const Options& options) {
  return guarded<std::string>(program, [&] {
    std::vector<std::string> globals;
    for (const Global& g : program.globals) globals.push_back(g.name);
    return print_unit(make_unit(program, options), globals);
  });
}

} // namespace cairn::compiler
