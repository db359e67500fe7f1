// The back of the compiler from end to end: tree, passes, A-normal form, liveness, code.

#include "compiler/back/big_stack.h"
#include "compiler/back/builder.h"
#include "compiler/back/emitter.h"
#include "compiler/back/liveness.h"
#include "compiler/back/loads.h"
#include "compiler/back/simplify.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace cairn::compiler {

using namespace back;

namespace {

// Adds the imports that the unit's statements name, in the order of their declaration; the statements count among them.
void keep_used_imports(Unit& unit, const std::vector<bytecode::Import>& declared) {
  Vector<Statement*> calls;
  Vector<BasicBlock*> work;
  for (AnfFunction& f : unit.functions) work.push_back(&f.body);
  while (!work.empty()) {
    BasicBlock* b = work.back();
    work.pop_back();
    for (Statement& s : b->statements) {
      if (s.kind == Statement::Kind::operation && s.op == Opcode::host) calls.push_back(&s);
      for (BasicBlock& inner : s.blocks) work.push_back(&inner);
      for (Label& l : s.labels) work.push_back(&l.body);
    }
  }
  Vector<bool> used(declared.size());
  for (const Statement* s : calls) used[s->index] = true;
  Vector<std::uint32_t> number(declared.size());
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (!used[i]) continue;
    std::vector<bytecode::Import>& imports = unit.ground.imports;
    auto known = std::find(imports.begin(), imports.end(), declared[i]);
    number[i] = static_cast<std::uint32_t>(known - imports.begin());
    if (known == imports.end()) imports.push_back(declared[i]);
  }
  for (Statement* s : calls) s->index = number[s->index];
}

Unit make_unit(const Program& program, const Options& options, Ground& ground) {
  Tree tree = make_tree(program);
  Globals globals(program, tree, options);
  globals.mark_stored(tree);
  if (options.level > 1) {
    simplify(tree, globals);
    globals.mark_stored(tree);
  }
  Unit unit = build_unit(tree, globals, classify_locals(tree, options.level > 0), options.level, ground);
  unit.sites = std::move(tree.sites);
  keep_used_imports(unit, program.hosts);
  for (AnfFunction& f : unit.functions) {
    if (options.level > 1) {
      share_loads(f, globals);
      sink_captures(f);
      delay_updates(f, unit);
    }
    find_last_uses(f);
  }
  return unit;
}

bytecode::Module tables(const Program& program, const Options& options, Ground& ground) {
  Unit unit = make_unit(program, options, ground);
  bytecode::Module module;
  const bytecode::Ends before = ground.ends;
  for (std::size_t g = before.globals; g < program.globals().size(); ++g)
    module.globals.emplace_back(program.globals()[g].name, program.globals()[g].library);
  for (std::size_t s = before.sources; s < program.sources().size(); ++s) {
    text::Source& source = module.sources.emplace_back(program.sources()[s]);
    if (!text::is_utf8(source.name))
      source.name = text::repaired(source.name); // the system takes any bytes for the name of a file
  }
  if (before.functions + unit.functions.size() > 0xFFFF || before.groups + unit.groups.size() > 0xFFFF)
    throw Failure{{unit.functions.back().span, "the program has too many procedures"}, {}};
  ConstantPool constants(module, ground);
  Charge charge;
  bytecode::RegisterSets sets = ground.sets;
  for (const AnfFunction& f : unit.functions) {
    bytecode::Function& made = module.functions.emplace_back(emit_function(f, unit, constants));
    unit.sites.write(made, module, ground);
    sets.add(made);
    if (!sets.fit()) throw Failure{{f.span, "this procedure has too many variables in use at once; split it"}, {}};
    charge.add(sizeof made + made.name.size() + made.code.size() * sizeof(bytecode::Word) +
               made.spans.size() * sizeof(bytecode::PcSpan) + made.sites.size() * sizeof(bytecode::InlineSite));
  }
  module.groups.assign(std::make_move_iterator(unit.groups.begin()), std::make_move_iterator(unit.groups.end()));
  module.imports.assign(ground.imports.begin() + before.imports, ground.imports.end());
  module.entry = unit.entry;
  ground.sets = sets;
  ground.ends = bytecode::ends_of(before, module);
  return module;
}

// The stack of a caller that is used before a larger one is taken.
constexpr std::size_t kCallersStack = std::size_t{1} << 18;
constexpr std::size_t kManyLevels = 100'000;

// Does the work on this stack or on a larger one, and completes what is thrown.
template <class Work> auto guarded(Program& program, const Work& work) -> decltype(work()) {
  Arena::Installed installed(&program.arena);
  Workspace unlimited;
  Workspace& workspace = Workspace::current() != nullptr ? *Workspace::current() : unlimited;
  Workspace::Installed counted(&workspace);
  Nesting deepest;
  try {
    deepest = nesting(program);
    if (deepest.depth <= kShallow) {
      try {
        Workspace::Stack stack(workspace, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - kCallersStack);
        return work();
      } catch (const OutOfStack&) {
        deepest.depth = kManyLevels;
      }
    }
    std::optional<decltype(work())> result;
    if (on_big_stack(deepest.depth, [&] { result.emplace(work()); })) return std::move(*result);
  } catch (Failure& failure) {
    if (failure.source.name.empty() && failure.diagnostic.span.file < program.sources().size())
      failure.source = program.sources()[failure.diagnostic.span.file];
    throw;
  } catch (const OutOfStack&) {
  }
  throw Failure{{deepest.span, "nested too deeply for the memory there is"}, program.sources().at(deepest.span.file)};
}

} // namespace

void Ground::roll_back(const bytecode::Ends& before) {
  ends = before;
  imports.resize(before.imports);
  std::erase_if(library, [&](const auto& l) { return l.second >= before.functions; });
  std::erase_if(wrappers, [&](const auto& w) { return w.second >= before.functions; });
  for (const Text* key : new_constants)
    if (key != nullptr) constants.erase(constants.find(*key));
  for (const Text* key : new_inlined)
    if (key != nullptr) inlined.erase(inlined.find(*key));
  for (std::uint64_t parts : new_pairs) pairs.erase(parts);
  new_constants.clear();
  new_inlined.clear();
  new_pairs.clear();
}

bytecode::Module generate(Program program, const Options& options) {
  Ground ground;
  return generate(std::move(program), options, ground);
}

bytecode::Module generate(Program program, const Options& options, Ground& ground) {
  const bytecode::Ends before = ground.ends;
  ground.new_constants.clear();
  ground.new_inlined.clear();
  ground.new_pairs.clear();
  bool again = false; // on a larger stack
  return guarded(program, [&] {
    if (std::exchange(again, true)) ground.roll_back(before);
    return tables(program, options, ground);
  });
}

std::string intermediate_text(Program program, const Options& options) {
  return guarded(program, [&] {
    Ground ground;
    return print_unit(make_unit(program, options, ground), program.globals());
  });
}

} // namespace cairn::compiler
