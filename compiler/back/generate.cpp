// The back of the compiler from end to end: tree, passes, A-normal form, liveness, code.

#include "compiler/back/big_stack.h"
#include "compiler/back/builder.h"
#include "compiler/back/emitter.h"
#include "compiler/back/liveness.h"
#include "compiler/back/loads.h"
#include "compiler/back/simplify.h"

#include <algorithm>

namespace cairn::compiler {

using namespace back;

namespace {

// Adds the imports that the unit's statements name, in the order of their declaration; the statements count among them.
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
  std::vector<bool> used(declared.size());
  for (const Statement* s : calls) used[s->index] = true;
  std::vector<std::uint32_t> number(declared.size());
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (!used[i]) continue;
    auto known = std::find(unit.imports.begin(), unit.imports.end(), declared[i]);
    number[i] = static_cast<std::uint32_t>(known - unit.imports.begin());
    if (known == unit.imports.end()) unit.imports.push_back(declared[i]);
  }
  for (Statement* s : calls) s->index = number[s->index];
}

// What earlier texts of a session left for the next one.
Unit begin_unit(Compiled& so_far) {
  Unit unit;
  unit.first_function = static_cast<std::uint32_t>(so_far.module.functions.size());
  unit.first_group = static_cast<std::uint32_t>(so_far.module.groups.size());
  unit.imports = so_far.module.imports;
  unit.known = std::move(so_far.known);
  return unit;
}

Unit make_unit(const Program& program, const Options& options, Unit begun) {
  Tree tree = make_tree(program);
  Globals globals(program, tree, options);
  globals.mark_stored(tree);
  if (options.level > 1) {
    simplify(tree, globals);
    globals.mark_stored(tree);
  }
  Unit unit = build_unit(tree, globals, classify_locals(tree, options.level > 0), options.level, std::move(begun));
  unit.sites = std::move(tree.sites);
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

// The tables grow at their ends only; a module of its own grows from nothing.
Compiled extended(const Program& program, const Options& options, Compiled so_far) {
  Unit unit = make_unit(program, options, begin_unit(so_far));
  bytecode::Module& module = so_far.module;
  for (std::size_t g = module.globals.size(); g < program.globals.size(); ++g)
    module.globals.emplace_back(program.globals[g].name, program.globals[g].library);
  if (module.globals.size() > 0xFFFF)
    throw Failure{{program.globals.back().span, "the program has too many top-level names"}, {}};
  module.sources = program.sources;
  if (unit.first_function + unit.functions.size() > 0xFFFF || unit.first_group + unit.groups.size() > 0xFFFF)
    throw Failure{{unit.functions.back().span, "the program has too many procedures"}, {}};
  ConstantPool constants(module);
  for (const AnfFunction& f : unit.functions)
    unit.sites.write(module.functions.emplace_back(emit_function(f, unit, constants)), module);
  for (bytecode::Group& g : unit.groups) module.groups.push_back(std::move(g));
  module.imports = std::move(unit.imports);
  module.entry = unit.entry;
  so_far.known = std::move(unit.known);
  return so_far;
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

bytecode::Module generate(Program program, const Options& options) { return generate(std::move(program), options, {}).module; }

Compiled generate(Program program, const Options& options, Compiled so_far) {
  return guarded<Compiled>(program, [&] { return extended(program, options, std::move(so_far)); });
}

std::string intermediate_text(Program program, const Options& options) {
  return guarded<std::string>(program, [&] {
    std::vector<std::string> globals;
    for (const Global& g : program.globals) globals.push_back(g.name);
    return print_unit(make_unit(program, options, {}), globals);
  });
}

} // namespace cairn::compiler
