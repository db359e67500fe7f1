// A holder is anything from which a tensor with the same elements can be reached. The run operator's own operands are none.
#include "vm/runs/holders.h"

#include "vm/machine/observe.h"
#include "vm/runs/children.h"
#include "vm/runs/graph.h"

#include <fmt/format.h>

#include <set>

namespace cairn::runs {

std::string holder_of(machine::Engine& engine, value::Value v) {
  std::set<const void*> elements;
  contains(engine.heap(), v, [&](Value leaf) {
    if (value::is_tensor(leaf)) elements.insert(value::tensor_of(leaf).storage.get());
    return false;
  });
  auto holds = [&](Value candidate) {
    return contains(engine.heap(), candidate, [&](Value leaf) {
      return value::is_tensor(leaf) && elements.contains(value::tensor_of(leaf).storage.get());
    });
  };
  const bytecode::Module& m = engine.loaded.module;
  for (std::size_t g = 0; g < engine.globals.size(); ++g)
    if (holds(engine.globals[g]))
      return fmt::format(": the definition of {0}, which the program may use again; bind it by 'let' around the training, or "
                         "pass it from call to call",
                         m.globals[g].name);
  for (std::size_t i = engine.runs.size(); i-- > 0;)
    for (const value::Frame* f = engine.runs[i].top; f != nullptr; f = f->parent) {
      if (f->code->module == nullptr || m.functions[f->code->index].library) continue; // what passes x on to the operator
      bool found = false;
      value::for_each_live(f, [&](std::uint32_t slot) { found = found || holds(f->slots()[slot]); });
      if (found) return fmt::format(": a variable of {}, which is used again", machine::waiting_text(engine, f));
    }
  return "";
}

} // namespace cairn::runs
