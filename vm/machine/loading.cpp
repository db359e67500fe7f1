// Programs come into a machine: modules, the next module of a session, calls of procedures by the host; and what a computation
// that cannot go on leaves behind is cleared away.
#include "vm/machine/code.h"
#include "vm/machine/engine.h"
#include "vm/value/owned.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace cairn::machine {

// What comes behind the machine's module, or a first one: the tables grow at their ends, all else is made beside what there is,
// and the machine is as it was unless `commit` is called. What it costs depends on what is new alone.
class Engine::Extension {
public:
  Extension(Engine& engine, bytecode::Module more)
      : engine_(engine), heap_(engine.heap()), loaded_(engine.loaded), module_(loaded_.module), before_(ends_of(module_)),
        entry_before_(module_.entry), proven_(loaded_.proven), serial_(heap_.next_serial), constants_(heap_), procedures_(heap_) {
    bytecode::append(module_, std::move(more));
  }
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;
  ~Extension() {
    if (!committed_) bytecode::cut(module_, before_, entry_before_);
    heap_.next_serial = serial_;
  }

  // False with a message if the module is unsound or needs what there is not.
  bool prepare(std::string& message) {
    bytecode::VerifyError e;
    if (!bytecode::verify(module_, proven_, facts_, e)) {
      message = fmt::format("invalid bytecode in function {} at word {}: {}", e.function, e.pc, e.message);
      return false;
    }
    if (!find_hosts(message)) return false;
    for (std::size_t i = loaded_.codes.size(); i < module_.functions.size(); ++i) {
      const bytecode::FunctionFacts& facts = facts_[i - loaded_.codes.size()];
      codes_.push_back(code_of(module_.functions[i], facts, static_cast<std::uint32_t>(i), &loaded_));
      Value procedure = value::kUndefined;
      if (!module_.functions[i].needs_closure) procedure = procedure_of(codes_.back().get());
      procedures_.add(procedure);
    }
    for (std::size_t i = loaded_.lone_code.size(); i < module_.groups.size(); ++i)
      lone_code_.push_back(module_.groups[i].functions.size() == 1 ? code(module_.groups[i].functions[0]) : nullptr);
    for (std::size_t i = loaded_.constants.size(); i < module_.constants.size(); ++i)
      constants_.add(constant(module_.constants[i]));
    return true;
  }
  // A frame that stands at the module's first instruction.
  void make_entry() { entry_.emplace(heap_, heap_.make_frame(code(module_.entry))); }

  // From here on the machine has it, the entry ready to run on top of no other run.
  void commit() {
    // Whatever may throw comes first.
    make_space(loaded_.facts, facts_.size());
    make_space(loaded_.codes, codes_.size());
    make_space(loaded_.procedures, procedures_.list.size());
    make_space(loaded_.constants, constants_.list.size());
    make_space(loaded_.lone_code, lone_code_.size());
    make_space(loaded_.hosts, hosts_.size());
    engine_.globals.resize(module_.globals.size(), value::kUndefined);
    if (entry_) engine_.runs.reserve(engine_.runs.size() + 1);
    std::move(facts_.begin(), facts_.end(), std::back_inserter(loaded_.facts));
    std::move(codes_.begin(), codes_.end(), std::back_inserter(loaded_.codes));
    keep(procedures_, loaded_.procedures);
    keep(constants_, loaded_.constants);
    loaded_.lone_code.insert(loaded_.lone_code.end(), lone_code_.begin(), lone_code_.end());
    loaded_.hosts.insert(loaded_.hosts.end(), hosts_.begin(), hosts_.end());
    loaded_.proven = proven_;
    committed_ = true;
    engine_.error = {};
    heap_.next_serial = serial_; // a program's text is not of its run
    if (!entry_) return;
    engine_.end_program();
    Run base;
    base.top = entry_->take();
    base.top->serial = heap_.next_serial++;
    engine_.push_run(base);
    engine_.ended = false;
    serial_ = heap_.next_serial;
  }

private:
  // Amortised: a session grows by a little at a time.
  template <class T> static void make_space(std::vector<T>& v, std::size_t more) {
    if (v.size() + more > v.capacity()) v.reserve(std::max(v.size() + more, v.capacity() * 2));
  }
  static void keep(value::OwnedValues& made, std::vector<Value>& table) {
    for (Value v : made.list) {
      if (v.is_object()) made.heap.make_immortal(value::object_of(v));
      table.push_back(v);
    }
    made.list.clear();
  }
  const Code* code(std::size_t i) const {
    return i < loaded_.codes.size() ? loaded_.codes[i].get() : codes_[i - loaded_.codes.size()].get();
  }
  // An earlier entry of one of the tables, for a part of a new object (owned).
  Value part(std::size_t i, const std::vector<Value>& old, const value::OwnedValues& made) const {
    return Heap::retain(i < old.size() ? old[i] : made.list[i - old.size()]);
  }
  Value procedure_of(const Code* code) {
    ClosureBlock* b = heap_.make_closure_block(1, 0);
    b->procedure(0)->code = code;
    return value::of_procedure(b->procedure(0));
  }
  Value constant(const bytecode::Constant& c) {
    using K = bytecode::Constant::Kind;
    switch (c.kind) {
    case K::null:
      return value::kNull;
    case K::boolean:
      return value::boolean(c.integer != 0);
    case K::integer:
      return value::integer(c.integer);
    case K::flonum:
      return value::flonum(c.flonum);
    case K::character:
      return value::character(static_cast<std::uint32_t>(c.integer));
    case K::string:
      return heap_.make_string(c.text);
    case K::symbol:
      return heap_.make_symbol(c.text);
    case K::pair:
      return heap_.cons(part(c.parts[0], loaded_.constants, constants_), part(c.parts[1], loaded_.constants, constants_));
    case K::vector: {
      value::Vector* v = heap_.make_vector(c.parts.size());
      for (std::size_t i = 0; i < c.parts.size(); ++i) v->items()[i] = part(c.parts[i], loaded_.constants, constants_);
      return value::of_other(v);
    }
    case K::function:
      return part(static_cast<std::size_t>(c.integer), loaded_.procedures, procedures_);
    case K::run_operator:
      return procedure_of(&engine_.run_operators.code(static_cast<bytecode::RunOperator>(c.integer)));
    }
    return value::kUnspecified;
  }
  bool find_hosts(std::string& message) {
    const std::vector<HostProcedure>& hosts = engine_.options.hosts;
    for (std::size_t i = loaded_.hosts.size(); i < module_.imports.size(); ++i) {
      const bytecode::Import& import = module_.imports[i];
      auto it = std::find_if(hosts.begin(), hosts.end(), [&](const HostProcedure& h) { return h.name == import.name; });
      if (it == hosts.end()) {
        message = fmt::format("the program needs the procedure `{}` of its host, which provides none of that name", import.name);
        return false;
      }
      if (it->parameters != import.parameters) {
        message = fmt::format("the program calls the host's procedure `{}` with {} arguments, the host's takes {}", import.name,
                              import.parameters, it->parameters);
        return false;
      }
      hosts_.push_back(&*it);
    }
    return true;
  }

  Engine& engine_;
  Heap& heap_;
  LoadedModule& loaded_;
  bytecode::Module& module_;
  const bytecode::Ends before_;
  const std::uint32_t entry_before_;
  bytecode::Proven proven_;
  bool committed_ = false;
  std::uint64_t serial_;
  std::vector<bytecode::FunctionFacts> facts_;
  std::vector<value::OwnedCode> codes_;
  std::vector<const Code*> lone_code_;
  std::vector<const HostProcedure*> hosts_;
  value::OwnedValues constants_, procedures_;
  std::optional<value::Held<Frame>> entry_; // goes before the code it stands in
};

namespace {

bool is_whole(const bytecode::Module& module, std::string& message) {
  if (module.is_extension()) message = "this module continues another one, which the machine does not have";
  return !module.is_extension();
}

// A program begins with the budgets that the machine was given, and with a file for tapes that nothing has refused yet.
void begin_budgets(Engine& engine) {
  engine.heap().set_budget(engine.options.memory_bytes);
  engine.state_budget = engine.options.memory_bytes;
  engine.budget_asked = engine.options.memory_asked;
  engine.state_spill = engine.options.spill_bytes;
  engine.spill_refused = false;
  engine.device_budgets.clear();
}

} // namespace

bool Engine::load_only(bytecode::Module module, std::string& message) {
  if (!is_whole(module, message)) return false;
  if (!bytecode::begins_with(module, loaded.module)) {
    message = "the machine has another program already";
    return false;
  }
  Extension first(*this, bytecode::beyond(std::move(module), ends_of(loaded.module)));
  if (!first.prepare(message)) return false;
  first.commit();
  ended = false;
  begin_budgets(*this);
  return true;
}

bool Engine::load(bytecode::Module module, std::string& message) {
  if (!is_whole(module, message)) return false;
  Extension first(*this, std::move(module));
  if (!first.prepare(message)) return false;
  begin_budgets(*this);
  first.make_entry();
  first.commit();
  return true;
}

bool Engine::continues(const bytecode::Module& module, std::string& message) {
  constexpr const char* kNo = "this module does not continue the one that the machine has: ";
  if (!module.is_extension()) {
    if (bytecode::begins_with(module, loaded.module)) return true;
    message = std::string(kNo) + "it begins with something else";
    return false;
  }
  loaded.digest.advance(loaded.module);
  const bytecode::Base here = loaded.digest.base();
  if (module.base == here) return true;
  if (module.base.ends == here.ends)
    message = std::string(kNo) + "it belongs to another session";
  else
    message = fmt::format(
        "{}it comes behind {} procedures, and the machine has {}; the modules of a session are given one after the other", kNo,
        module.base.ends.functions, here.ends.functions);
  return false;
}

bool Engine::extend(bytecode::Module module, std::string& message) {
  if (loaded.module.functions.empty()) return load(std::move(module), message); // a capsule that was refused left nothing
  if (!continues(module, message)) return false;
  if (!module.is_extension()) module = bytecode::beyond(std::move(module), ends_of(loaded.module));
  Extension next(*this, std::move(module));
  if (!next.prepare(message)) return false;
  next.make_entry();
  next.commit();
  return true;
}

void Engine::begin(Value procedure, std::span<const Value> arguments) {
  end_program();
  runs.reserve(1);
  Frame* top = make_call(procedure, arguments.data(), arguments.size());
  runs.emplace_back().top = top;
  derive(0);
  ended = false;
}

void Engine::end_program() {
  if (!runs.empty()) end_runs();
  heap_.release(std::exchange(result, value::kUnspecified));
  forget_files();
}

void Engine::forget_files() {
  if (tensor_world != nullptr) tensor_world->give_up_reads();
  files.forget();
}

void Engine::end_runs() {
  for (const Run& r : runs) // an interval may have put the serial counter back
    if (r.state != nullptr) heap_.next_serial = std::max(heap_.next_serial, r.run_state()->serial_floor());
  release_runs(runs);
  effects.counters.done = 0;
  gradient = {};
  ended = true;
}

void Engine::discard_damaged_state() {
  drop_everything();
  ended = true;
}

} // namespace cairn::machine
