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

// The imports that the unit's statements name, in the order of their declaration; the statements count from these.
void keep_used_imports(Unit& unit, const std::vector<bytecode::Import>& declared) {
  std::vector<Statement*> calls;
  std::vector<Block*> work;
  for (AnfFunction& f : unit.functions) work.push_back(&f.body);
  while (!work.empty()) {
    Block* b = work.back();
    work.pop_back();
    for (Statement& s : b->statements) {
      if (s.kind == Statement::Kind::operation && s.op == Opcode::host) calls.push_back(&s);
      for (Block& inner : s.blocks) work.push_back(&inner);
      for (Label& l : s.labels) work.push_back(&l.body);
    }
  }
  std::vector<std::uint32_t> number(declared.size(), kNone);
  for (const Statement* s : calls) number[s->index] = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (number[i] == kNone) continue;
    number[i] = static_cast<std::uint32_t>(unit.imports.size());
    unit.imports.push_back(declared[i]);
  }
  for (Statement* s : calls) s->index = number[s->index];
}

Unit make_unit(const Program& program, const Options& options) {
  Tree tree = make_tree(program);
  Globals globals(program, tree, options);
  globals.mark_stored(tree);
  if (options.level > 1) {
    simplify(tree, globals);
    globals.mark_stored(tree);
  }
  Unit unit = build_unit(tree, globals, classify_locals(tree, options.level > 0), options.level);
  keep_used_imports(unit, program.hosts);
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
  module.imports = std::move(unit.imports);
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
