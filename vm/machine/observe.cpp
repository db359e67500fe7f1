// Locations, progress and profiles of a machine, for people.
#include "vm/machine/observe.h"

#include "vm/bytecode/disassembler.h"
#include "vm/machine/engine.h"
#include "vm/schedule/checker.h"
#include "vm/text/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace cairn::machine {

namespace {

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// Where an instruction stands; the location is empty where it is not known. What was copied counts as its own procedure's.
struct Standing {
  std::string procedure, location;
};
Standing standing(const Engine& e, const Code* code, std::uint32_t pc, bool column) {
  const bytecode::Module& m = e.loaded.module;
  std::vector<bytecode::Location> locations;
  if (code->module != nullptr) locations = bytecode::locations_at(m, m.functions[code->index], pc);
  if (locations.empty()) return {name_of(e, code), ""};
  const bytecode::Location& at = locations.front();
  std::string location = at.span.file < m.sources.size() ? location_text(m.sources[at.span.file], at.span, column) : "";
  if (at.procedure == nullptr) return {name_of(e, code), location};
  return {at.procedure->name.empty() ? "a procedure" : known_as(at.procedure->name), location};
}

} // namespace

std::string location_text(const text::Source& source, const text::Span& span, bool column) {
  if (source.text.empty()) return source.name;
  text::Position at = text::position_of(source.text, span.begin);
  return column ? fmt::format("{}:{}:{}", source.name, at.line, at.column) : fmt::format("{}:{}", source.name, at.line);
}

std::string known_as(const std::string& name) { return name.starts_with('%') ? name.substr(1, name.rfind('/') - 1) : name; }

std::string name_of(const Engine& e, const Code* code) {
  if (code->module != nullptr && code->index == e.loaded.module.entry) return "the top level";
  std::string name = known_as(e.procedure_name(code));
  if (!name.empty()) return name;
  const bytecode::Module& m = e.loaded.module;
  const text::Span& span = m.functions[code->index].span;
  std::string location =
      code->module != nullptr && span.file < m.sources.size() ? location_text(m.sources[span.file], span, false) : "";
  return location.empty() ? "a procedure" : "lambda at " + location;
}

std::string waiting_text(const Engine& e, const value::Frame* frame) {
  const bytecode::Module& m = e.loaded.module;
  for (const bytecode::Location& at :
       bytecode::locations_at(m, m.functions[frame->code->index], frame->pc() == 0 ? 0 : frame->pc() - 1)) {
    if (at.procedure != nullptr && at.procedure->library) continue;
    std::string name = at.procedure != nullptr && !at.procedure->name.empty() ? at.procedure->name : name_of(e, frame->code);
    return at.span.file < m.sources.size() ? fmt::format("{} at {}", name, location_text(m.sources[at.span.file], at.span))
                                           : name;
  }
  return name_of(e, frame->code);
}

Progress progress_of(const Engine& e) {
  GradientProgress& g = e.gradient;
  if (!g.active) return {};
  Progress p{true, g.total, g.executed, 0};
  auto interval = std::find_if(e.runs.begin(), e.runs.end(), [](const Run& r) { return r.kind == RunKind::interval; });
  if (interval != e.runs.end()) p.executed += e.clock - interval->start;
  if (g.total != 0 && !g.predicted) {
    schedule::Program program;
    program.total = g.total;
    const bool alone = std::none_of(e.runs.begin(), interval, [](const Run& r) { return r.kind == RunKind::reverse; });
    auto predicted = schedule::predict(e.schedules[g.spec], program, e.resources(alone));
    g.predicted = predicted ? static_cast<std::uint64_t>(predicted->replay_factor * static_cast<double>(g.total)) : 0;
  }
  p.predicted = g.predicted.value_or(0);
  return p;
}

std::string instruction_text(const Engine& e) {
  const Frame* frame = e.runs.back().top;
  const Code* code = frame->code;
  Standing at = standing(e, code, frame->pc(), true);
  std::string text = code->module != nullptr
                         ? bytecode::disassemble_one(e.loaded.module, code->index, frame->pc())
                         : std::string(bytecode::kOpcodes[static_cast<std::size_t>(bytecode::opcode_of(*frame->next()))].name);
  return fmt::format("{}  {}  {}", at.location.empty() ? "-" : at.location, at.procedure, text);
}

void Profile::before(const Engine& e) {
  const Frame* frame = e.runs.back().top;
  code_ = frame->code;
  pc_ = frame->pc();
  live_ = e.live_bytes();
  clock_ = e.clock;
  started_ = nanoseconds();
}

void Profile::after(const Engine& e) {
  std::uint64_t took = nanoseconds() - started_;
  std::vector<Counters>& at = counters_[code_];
  if (at.size() <= pc_) at.resize(std::size_t{pc_} + 1);
  at[pc_].add({e.clock - clock_, took, std::max<std::int64_t>(0, e.live_bytes() - live_)});
}

void Profile::put_table(std::string& out, const char* title, std::vector<Row> rows, const Counters& all) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.counters.nanoseconds != b.counters.nanoseconds ? a.counters.nanoseconds > b.counters.nanoseconds : a.name < b.name;
  });
  out += fmt::format("{:>15} {:>6} {:>10} {:>6} {:>15}  {}\n", "steps", "%", "ms", "%", "bytes", title);
  auto percent = [](auto part, auto whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  for (const Row& r : rows)
    out += fmt::format("{:>15} {:>6.1f} {:>10.3f} {:>6.1f} {:>15}  {}\n", r.counters.steps, percent(r.counters.steps, all.steps),
                       static_cast<double>(r.counters.nanoseconds) * 1e-6, percent(r.counters.nanoseconds, all.nanoseconds),
                       r.counters.bytes, text::shown_name(r.name));
}

std::string Profile::text(const Engine& e) const {
  std::map<std::string, Counters> procedures, lines;
  Counters all;
  for (const auto& [code, counters] : counters_)
    for (std::uint32_t pc = 0; pc < counters.size(); ++pc) {
      if (counters[pc].steps == 0) continue;
      Standing at = standing(e, code, pc, false);
      procedures[at.procedure].add(counters[pc]);
      lines[at.location.empty() ? "(" + at.procedure + ")" : at.location].add(counters[pc]);
      all.add(counters[pc]);
    }
  auto rows = [](const std::map<std::string, Counters>& from) {
    std::vector<Row> list;
    for (const auto& [name, counters] : from) list.push_back({name, counters});
    return list;
  };
  std::string out = fmt::format("{} steps, {:.3f} ms in instructions, {} bytes of growth\n\n", all.steps,
                                static_cast<double>(all.nanoseconds) * 1e-6, all.bytes);
  put_table(out, "procedure", rows(procedures), all);
  out += '\n';
  put_table(out, "line", rows(lines), all);
  return out;
}

} // namespace cairn::machine
