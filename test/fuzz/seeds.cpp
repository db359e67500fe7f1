// Seeds of modules and capsules: compiled and run here, so that they are always of today's formats.
#include "compiler/api/cairn_compiler.h"
#include "ops/operators/registry.h"
#include "test/fuzz/cases.h"
#include "test/fuzz/trials.h"
#include "vm/bytecode/file.h"

#include <algorithm>
#include <utility>

namespace fuzzing {

namespace {

constexpr std::size_t kMostBytes = 24 << 10; // a small seed is changed in more places
constexpr int kStops = 6;                    // capsules of one program

std::vector<std::string> programs() {
  std::vector<std::string> list;
  for (Case& program : cases_of("programs.scm")) list.push_back(std::move(program.text));
  std::string line, expressions;
  for (std::ifstream file = opened("operators.txt"); std::getline(file, line);) {
    const std::size_t bar = line.find('|');
    if (line.starts_with("#") || bar == std::string::npos) continue;
    expressions += line + " ";
    list.push_back("(define x (+ (* .1 (rand '(" + line.substr(0, bar) + "))) .4))\n(define (f x) (let ((y " +
                   line.substr(bar + 1) + ")) y))\n" +
                   "(define (g x) (f (* x 1.)))\n(write (car (with-schedule \"bisection,base=16\" (lambda () (checkpoint-*j g x "
                   "(f x))))))\n" +
                   "(write (car (j* (lambda (x) (*j f x (f x))) x x)))\n");
  }
  for (const cairn::ops::Operator& op : cairn::ops::all_operators())
    promise(op.name.starts_with("%") || expressions.find("(" + std::string(op.name) + " ") != std::string::npos,
            "each operator that programs can name has a line in operators.txt:", std::string(op.name));
  return list;
}

Bytes compiled(const std::string& text) {
  const cairn_host_declaration hosts[] = {{"host-half", 1}, {"host-log", 1}, {"host-same", 2}};
  cairn_compiler_options options;
  cairn_compiler_options_init(&options);
  options.strip = 1;
  options.exports = 0;
  options.hosts = hosts;
  options.host_count = std::size(hosts);
  void* bytes = nullptr;
  std::size_t size = 0;
  char* error = nullptr;
  const cairn_status status = cairn_compile("seed.scm", text.data(), text.size(), &options, &bytes, &size, &error);
  promise(status == CAIRN_OK, "a seed compiles:", (error == nullptr ? "" : error) + text);
  const auto* begin = static_cast<const std::byte*>(bytes);
  Bytes file(begin, begin + size);
  cairn_compiler_free(bytes);
  return file;
}

cairn::machine::Options roomy(const std::string& text) {
  cairn::machine::Options options = with_hosts(nullptr);
  options.memory_bytes = std::int64_t{64} << 20;
  return text.find("streaming-plan") == std::string::npos ? options : streaming(std::move(options));
}

// The machine before its first step.
void load(Engine& machine, const Bytes& file) {
  cairn::bytecode::Module module;
  std::string error;
  promise(cairn::bytecode::read_module(file, module, error) && machine.load(std::move(module), error), "a seed is sound:", error);
}

} // namespace

std::vector<Bytes> seeds(FileKind kind) {
  if (kind == FileKind::plan) return plan_seeds();
  std::vector<Bytes> list;
  for (const std::string& text : programs()) {
    Bytes module = compiled(text);
    Engine whole(roomy(text), cairn::runs::kOperators);
    load(whole, module);
    const Status end = whole.run();
    promise(end == Status::done, "a seed runs to its end:", end == Status::error ? whole.error.message + "\n" + text : text);
    if (kind == FileKind::module) {
      if (module.size() <= kMostBytes) list.push_back(std::move(module));
      continue;
    }
    const std::uint64_t steps = whole.statistics_now().steps;
    for (int stop = 1; stop <= kStops; ++stop) {
      Engine machine(roomy(text), cairn::runs::kOperators);
      load(machine, module);
      machine.run(steps * static_cast<std::uint64_t>(stop) / (kStops + 1));
      Bytes capsule = cairn::image::write_image(machine);
      if (capsule.size() <= kMostBytes) list.push_back(std::move(capsule));
    }
  }
  return list;
}

} // namespace fuzzing
