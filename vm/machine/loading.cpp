// Programs come into a machine: modules, the next module of a session, calls of procedures by the host; and what a computation that cannot go
// on leaves behind is cleared away.
#include "vm/machine/engine.h"
#include "vm/machine/run_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cairn::machine {

namespace {

// Marks everything reachable from a constant as immortal; constants are trees over earlier constants, so one object at a time is enough.
// Serial 0 is older than every tape's world.
void make_immortal(Value v) {
  if (!v.is_object()) return;
  value::object_of(v)->count = value::kImmortal;
  value::object_of(v)->serial = 0;
}

// Where the tables of a module end: what is behind is new.
struct Sizes {
  std::size_t constants, functions, groups, globals;
};
Sizes sizes_of(const bytecode::Module& m) { return {m.constants.size(), m.functions.size(), m.groups.size(), m.globals.size()}; }

} // namespace

Value Engine::make_constant(const bytecode::Constant& c) {
  using K = bytecode::Constant::Kind;
  switch (c.kind) {
  case K::null: return value::kNull;
  case K::boolean: return value::boolean(c.integer != 0);
  case K::integer: return value::integer(c.integer);
  case K::flonum: return value::flonum(c.flonum);
  case K::character: return value::character(static_cast<std::uint32_t>(c.integer));
  case K::string: return heap_.make_string(c.text);
  case K::symbol: return heap_.make_symbol(c.text);
  case K::pair: return heap_.cons(loaded.constants[c.parts[0]], loaded.constants[c.parts[1]]);
  case K::vector: {
    value::Vector* v = heap_.make_vector(c.parts.size());
    for (std::size_t i = 0; i < c.parts.size(); ++i) v->items()[i] = loaded.constants[c.parts[i]];
    return value::of_other(v);
  }
  case K::function: return loaded.procedures[static_cast<std::size_t>(c.integer)];
  case K::run_operator: {
    Block* b = heap_.make_block(1, 0);
    b->procedure(0)->code = &run_operator_code(static_cast<bytecode::RunOperator>(c.integer));
    return value::of_procedure(b->procedure(0));
  }
  }
  return value::kUnspecified;
}

bool Engine::find_hosts(const bytecode::Module& module, std::string& message) {
  std::vector<const HostProcedure*> found;
  for (const bytecode::Import& import : module.imports) {
    auto it = std::find_if(options.hosts.begin(), options.hosts.end(), [&](const HostProcedure& h) { return h.name == import.name; });
    if (it == options.hosts.end()) {
      message = fmt::format("the program needs the procedure `{}` of its host, which provides none of that name", import.name);
      return false;
    }
    if (it->parameters != import.parameters) {
      message = fmt::format("the program calls the host's procedure `{}` with {} arguments, the host's takes {}", import.name,
                            import.parameters, it->parameters);
      return false;
    }
    found.push_back(&*it);
  }
  loaded.hosts = std::move(found);
  return true;
}

// Everything of `module` beyond what is loaded already, which it must begin with.
bool Engine::append(bytecode::Module module, std::string& message) {
  std::vector<bytecode::FunctionFacts> facts;
  bytecode::VerifyError e;
  if (!bytecode::verify(module, facts, e)) {
    message = fmt::format("invalid bytecode in function {} at word {}: {}", e.function, e.pc, e.message);
    return false;
  }
  if (!find_hosts(module, message)) return false;
  Sizes old = sizes_of(loaded.module);
  loaded.module = std::move(module);
  const bytecode::Module& m = loaded.module;
  std::int64_t live = heap_.live_objects();
  std::uint64_t serial = heap_.next_serial;
  for (std::size_t i = old.functions; i < m.functions.size(); ++i) {
    loaded.facts.push_back(std::move(facts[i]));
    loaded.codes.push_back(value::make_code(m.functions[i], loaded.facts[i], static_cast<std::uint32_t>(i), &loaded));
    loaded.procedures.push_back(value::kUndefined);
    if (m.functions[i].needs_closure) continue;
    Block* b = heap_.make_block(1, 0);
    b->procedure(0)->code = loaded.codes[i].get();
    loaded.procedures[i] = value::of_procedure(b->procedure(0));
    make_immortal(loaded.procedures[i]);
  }
  for (std::size_t i = old.groups; i < m.groups.size(); ++i)
    loaded.lone_code.push_back(m.groups[i].functions.size() == 1 ? loaded.codes[m.groups[i].functions[0]].get() : nullptr);
  for (std::size_t i = old.constants; i < m.constants.size(); ++i) {
    loaded.constants.push_back(make_constant(m.constants[i]));
    make_immortal(loaded.constants.back());
  }
  globals.resize(m.globals.size(), value::kUndefined);
  heap_.set_counts(serial, live);  // a program's text is not of its run
  return true;
}

bool Engine::load_only(bytecode::Module module, std::string& message) {
  loaded = {};
  ended = false;
  if (!append(std::move(module), message)) return false;
  heap_.set_budget(options.memory_bytes);
  state_budget = options.memory_bytes;
  return true;
}

void Engine::start_entry() {
  Run base;
  base.top = heap_.make_frame(loaded.codes[loaded.module.entry].get());
  push_run(base);
  ended = false;
}

bool Engine::load(bytecode::Module module, std::string& message) {
  if (!load_only(std::move(module), message)) return false;
  start_entry();
  return true;
}

bool Engine::extend(bytecode::Module module, std::string& message) {
  if (!bytecode::begins_with(module, loaded.module)) {
    message = "this module does not continue the one that the machine has";
    return false;
  }
  error = {};  // it may point into the old module
  if (!append(std::move(module), message)) return false;
  settle();
  start_entry();
  return true;
}

void Engine::begin(Value procedure, std::span<const Value> arguments) {
  settle();
  Frame* top = make_call(procedure, arguments.data(), arguments.size());
  runs.emplace_back().top = top;  // what it inherits is derived when it runs
  ended = false;
}

void Engine::settle() {
  if (!runs.empty()) stop();
  heap_.release(std::exchange(result, value::kUnspecified));
}

void Engine::stop() {
  for (const Run& r : runs)  // an interval may have put the serial counter back
    if (r.state != nullptr) heap_.next_serial = std::max(heap_.next_serial, r.run_state()->serial_floor());
  release_runs(runs);
  effects_done = 0;
  gradient = {};
  ended = true;
}

void Engine::abandon() {
  drop_everything();
  ended = true;
}

} // namespace cairn::machine
