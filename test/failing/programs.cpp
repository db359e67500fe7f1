// See programs.h.
#include "test/failing/programs.h"
#include "test/failing/tools.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace failing {

namespace {

// What a machine must still write after another program has failed on it: it uses no definition that may be missing.
const std::string kProbe = "(write (cdr (*j (lambda (x) (* x x)) 3. 1)))";
const std::string kProbed = "6.0";

// Programs that run longer than this are not for sweeping.
constexpr std::uint64_t kMostSteps = 300'000;

struct Program {
  std::string name, text, input;
  std::vector<std::string> arguments;
  std::string device, schedule;
  std::uint64_t memory = std::uint64_t{256} << 20;
  Bytes module, probe;  // the second continues the first
  std::string expected; // what it writes
  std::string reported; // and reports
  cairn_status ends = CAIRN_OK;
  std::uint64_t steps = 0;
  bool own_memory = false;
  bool files = false;  // it may read and write in the current folder
  bool spills = false; // into a file there, which costs nothing

  cairn_vm_options options() const {
    cairn_vm_options options = Machine::defaults();
    options.memory_bytes = memory;
    if (!device.empty()) options.device = device.c_str();
    if (!schedule.empty()) options.schedule = schedule.c_str();
    if (!spills) return options;
    options.spill = ".";
    options.spill_bytes = std::uint64_t{4} << 20;
    options.spill_encoding = "always";
    options.costs = "spill 0\nproduct 1\nflop 1\nbyte 1\n";
    return options;
  }
};

bool starts(const std::string& line, const char* with) { return line.rfind(with, 0) == 0; }

// What stands behind `; KEY: ` anywhere in a line.
bool directive(const std::string& line, const std::string& key, std::string& value) {
  std::size_t at = line.find("; " + key + ": ");
  if (at == std::string::npos) return false;
  value = line.substr(at + key.size() + 4);
  return true;
}

// False: it has options that do not matter here, or that a sweep cannot keep.
bool understood(Program& p, const std::string& flags) {
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    auto value = [&](const char* option) {
      return starts(word, option) ? word.substr(std::string(option).size()) : std::string();
    };
    if (std::string v = value("--device="); !v.empty())
      p.device += (p.device.empty() ? "" : ";") + v;
    else if (word == "--files")
      p.files = true;
    else if (word == "--spill")
      p.spills = true;
    else if (v = value("--checkpoint="); !v.empty())
      p.schedule = v;
    else if (v = value("--memory="); !v.empty()) {
      char* unit = nullptr;
      p.memory = std::strtoull(v.c_str(), &unit, 10) << (std::string(unit) == "MiB" ? 20 : std::string(unit) == "KiB" ? 10 : 0);
    } else {
      return false;
    }
  }
  return true;
}

std::vector<Program> programs_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<Program> out;
  std::string prelude, file_name = std::filesystem::path(path).filename();
  bool usable = true;
  auto end = [&] {
    if (!out.empty() && !usable) out.pop_back();
    usable = true;
  };
  for (std::string line; std::getline(file, line);) {
    if (starts(line, ";;; case ")) {
      end();
      out.emplace_back().name = file_name + ": " + line.substr(9);
      out.back().text = prelude;
      continue;
    }
    (out.empty() ? prelude : out.back().text) += line + "\n";
    std::string value;
    if (out.empty()) continue;
    if (directive(line, "input", value)) out.back().input += value + "\n";
    if (directive(line, "flags", value) && !understood(out.back(), value)) usable = false;
    if (directive(line, "args", value)) usable = false;
  }
  end();
  if (out.empty()) {
    Program& whole = out.emplace_back();
    whole.name = file_name;
    whole.text = prelude;
    std::istringstream lines(prelude);
    for (std::string line, value; std::getline(lines, line);)
      if (directive(line, "input", value)) whole.input += value + "\n";
  }
  return out;
}

// Compiles it and sees what it does undisturbed. False: it is nothing to sweep.
bool prepare(Program& p, const std::string& path) {
  std::string error;
  std::vector<Bytes> modules = compiled_session({p.text, kProbe}, error, {}, path.c_str());
  if (modules.size() != 2) return false;
  p.module = modules[0];
  p.probe = modules[1];
  Run run;
  Module module(p.module);
  Machine vm(run, p.options(), p.own_memory);
  if (!vm.made() || (p.files && !vm.grant_files())) return false;
  vm.input = p.input;
  if (!vm.load(module)) return false;
  p.ends = cairn_vm_run(vm, kMostSteps);
  p.expected = vm.output;
  p.reported = vm.reported;
  p.steps = cairn_vm_steps(vm);
  return p.ends == CAIRN_OK || p.ends == CAIRN_PROGRAM_ERROR || p.ends == CAIRN_OVER_BUDGET;
}

// How the run that was refused something may have ended: as it does undisturbed, or for want of memory, and never with other
// output or reports.
bool ended_well(Run& run, const Program& p, const Machine& vm, cairn_status status, bool may_tell_late = false) {
  bool short_of_memory = (run.refuses() || may_tell_late) && (status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY);
  if (status != p.ends && !short_of_memory) {
    run.complain(fmt::format("ends with status {}, undisturbed with {}", static_cast<int>(status), static_cast<int>(p.ends)));
    return false;
  }
  const bool whole = status == p.ends && !short_of_memory;
  const auto fits = [&](const char* what, const std::string& got, const std::string& expected) {
    const bool good = whole ? got == expected : expected.starts_with(got);
    if (!good) run.complain(what + got);
    return good;
  };
  const bool writes = fits("writes ", vm.output, p.expected);
  return fits("reports ", vm.reported, p.reported) && writes;
}

cairn_status ran(cairn_vm* vm, std::uint64_t steps) {
  Inside inside;
  return cairn_vm_run(vm, steps);
}

void run_program(Run& run, const Program& p, const Module& module, const Module& probe) {
  Machine vm(run, p.options(), p.own_memory);
  if (!vm.made() || (p.files && !vm.grant_files())) return;
  vm.input = p.input;
  if (!vm.load(module)) return;
  if (ended_well(run, p, vm, ran(vm, CAIRN_UNLIMITED)) && p.ends != CAIRN_OVER_BUDGET) vm.probe(probe, kProbed);
}

constexpr const char* kHalf = "half.capsule";

// Half of it, a file, for which a state need not fit into memory, and the rest on another machine.
void run_in_two_by_file(Run& run, const Program& p, const Module& module) {
  std::string first, reported;
  bool saved = false;
  {
    Machine vm(run, p.options(), p.own_memory);
    if (!vm.made() || !vm.load(module)) return;
    const cairn_status status = ran(vm, p.steps / 2);
    if (status != CAIRN_OUT_OF_STEPS) {
      run.judged("the first half", status);
      return;
    }
    saved = run.did("cairn_vm_save_file", [&] { return cairn_vm_save_file(vm, kHalf, nullptr); });
    first = vm.output;
    reported = vm.reported;
    if (!saved) {
      run.no_more();
      ended_well(run, p, vm, ran(vm, CAIRN_UNLIMITED));
      return;
    }
  }
  Machine vm(run, p.options(), p.own_memory);
  if (!vm.made()) return;
  vm.output = first;
  vm.reported = reported;
  if (!run.did("cairn_vm_restore_file", [&] { return cairn_vm_restore_file(vm, kHalf, nullptr); })) return;
  ended_well(run, p, vm, ran(vm, CAIRN_UNLIMITED));
}

// Half of it, a capsule, and the rest on another machine.
void run_in_two(Run& run, const Program& p, const Module& module) {
  Bytes file;
  std::string first, reported;
  std::size_t input_at = 0;
  {
    Machine vm(run, p.options(), p.own_memory);
    if (!vm.made() || (p.files && !vm.grant_files())) return;
    vm.input = p.input;
    if (!vm.load(module)) return;
    cairn_status status = ran(vm, p.steps / 2);
    if (status != CAIRN_OUT_OF_STEPS) {
      run.judged("the first half", status);
      return;
    }
    cairn_capsule* capsule = nullptr;
    if (!run.did("cairn_vm_capsule", [&] { return cairn_vm_capsule(vm, &capsule); })) {
      // Whether it could be saved or not, it goes on. A recording (get-streaming-plan) that lost memory before that says so at
      // its end.
      run.no_more();
      ended_well(run, p, vm, ran(vm, CAIRN_UNLIMITED), run.kind == Kind::memory_and_all_behind);
      return;
    }
    void* bytes = nullptr;
    std::size_t size = 0;
    if (run.did("cairn_capsule_write", [&] { return cairn_capsule_write(capsule, &bytes, &size); }))
      file.assign(static_cast<unsigned char*>(bytes), static_cast<unsigned char*>(bytes) + size);
    cairn_free(bytes);
    cairn_capsule_free(capsule);
    first = vm.output;
    reported = vm.reported;
    input_at = vm.input_at;
  }
  if (file.empty()) return;
  Machine vm(run, p.options(), p.own_memory);
  if (!vm.made() || (p.files && !vm.grant_files())) return;
  vm.output = first;
  vm.reported = reported;
  vm.input = p.input;
  vm.input_at = input_at;
  if (!run.did("cairn_vm_restore", [&] { return cairn_vm_restore(vm, file.data(), file.size(), nullptr); })) return;
  ended_well(run, p, vm, ran(vm, CAIRN_UNLIMITED));
}

std::shared_ptr<Program> prepared(Program&& given, const std::string& path) {
  auto p = std::make_shared<Program>(std::move(given));
  return prepare(*p, path) ? p : nullptr;
}

} // namespace

void add_programs(const std::string& path, std::vector<Scenario>& scenarios) {
  for (Program& given : programs_of(path)) {
    given.own_memory = scenarios.size() % 4 == 3;
    std::shared_ptr<Program> p = prepared(std::move(given), path);
    if (p == nullptr) continue;
    auto module = std::make_shared<Module>(p->module), probe = std::make_shared<Module>(p->probe);
    scenarios.push_back({p->name, [=](Run& run) { run_program(run, *p, *module, *probe); }, p->spills});
    if (p->ends != CAIRN_OVER_BUDGET)
      scenarios.push_back(
          {p->name + ", in two", [=](Run& run) { (p->spills ? run_in_two_by_file : run_in_two)(run, *p, *module); }, p->spills});
  }
}

void add_sources(const std::string& path, std::vector<Scenario>& scenarios) {
  for (Program& given : programs_of(path)) {
    auto text = std::make_shared<std::string>(given.text);
    std::string error;
    auto expected = std::make_shared<Bytes>(compiled(*text, error, {}, path.c_str()));
    cairn_status ends = expected->empty() ? CAIRN_BAD_SOURCE : CAIRN_OK;
    scenarios.push_back({given.name + ", compiled", [=](Run& run) {
                           cairn_compiler_options options;
                           cairn_compiler_options_init(&options);
                           void* bytes = nullptr;
                           std::size_t size = 0;
                           char* message = nullptr;
                           cairn_status status = CAIRN_OK;
                           {
                             Inside inside;
                             status = cairn_compile(path.c_str(), text->data(), text->size(), &options, &bytes, &size, &message);
                           }
                           if (status != ends) run.judged("cairn_compile", status);
                           if (status == CAIRN_OK) {
                             run.check(Bytes(static_cast<unsigned char*>(bytes), static_cast<unsigned char*>(bytes) + size) ==
                                           *expected,
                                       "another module");
                             cairn_module* module = nullptr;
                             run.did("cairn_module_read", [&] { return cairn_module_read(bytes, size, &module, nullptr); });
                             cairn_module_free(module);
                           }
                           cairn_compiler_free(message);
                           cairn_compiler_free(bytes);
                         }});
  }
}

} // namespace failing
