// One session of the compiler, one machine, and a loop. What was interrupted waits until it is continued or something else is
// run.
#include "repl.h"

#include "common/exit_codes.h"
#include "common/handles.h"
#include "line_input.h"
#include "listing.h"
#include "reference.h"
#include "streams.h"
#include "wrapping.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cairn::tools {

namespace {

constexpr const char* kHelp = R"(An expression is evaluated and its value shown; a definition stays, and may be made again.
  ,time EXPR       its value, steps and seconds
  ,steps EXPR      its value and steps
  ,grad F X        (F X) and the gradient of F at X
  ,dis NAME        the instructions of a procedure
  ,dis EXPR        the instructions of an expression
  ,doc NAME        what a procedure, form or operator is, with an example
  ,apropos WORD    the names that have to do with a word
  ,load FILE       the definitions and expressions of a file
  ,continue        go on with what Ctrl-C interrupted
  _                the last value that was shown, in expressions
  ,help            this text
  ,quit            end the loop, as Ctrl-D does
Tab completes names. An entry goes on over several lines until its parentheses are closed.
)";
constexpr const char* kCommands[] = {",apropos", ",continue", ",dis",  ",doc",   ",grad",
                                     ",help",    ",load",     ",quit", ",steps", ",time"};

constexpr const char* kLastValue = "_";

std::atomic<cairn_vm*> g_running = nullptr; // what Ctrl-C cancels

std::string history_path() {
  if (const char* given = std::getenv("CAIRN_HISTORY")) return given;
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.cairn_history";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

class Repl {
public:
  explicit Repl(const RunOptions& options);
  ~Repl() { cairn_session_free(session_); }
  Repl(const Repl&) = delete;
  Repl& operator=(const Repl&) = delete;

  int run();

private:
  struct Outcome {
    bool done = false; // ran to its end
    std::string value; // as `write` prints it; empty if there is none to show
    std::uint64_t steps = 0;
    double seconds = 0;
  };

  bool create();
  bool define_last_value();
  bool next_entry(std::string& text);
  void handle(std::string_view entry);
  void command(std::string_view name, std::string_view rest);
  bool compile(std::string_view text, bool whole, ModuleHandle& module);
  Outcome evaluate(std::string_view text);
  Outcome proceed();
  void show_value(const Outcome& outcome);
  void show_gradient(std::string_view arguments);
  void disassemble(std::string_view text);
  void load(std::string_view path);
  std::string instead_of(std::string_view name);
  std::vector<std::string> names(const std::string& prefix) const;
  void fresh_line();
  void say(std::string_view text) { print(text); }
  bool print(std::string_view text);

  const RunOptions& options_;
  Progress progress_;
  Streams streams_;
  LineInput input_;
  cairn_session* session_ = nullptr;
  VmHandle vm_;
  unsigned entries_ = 0;
  bool at_line_start_ = true;
  bool quit_ = false;
  bool stopped_ = false;   // something was interrupted
  bool has_value_ = false; // of what runs
  Outcome so_far_;         // of what runs: steps and seconds before it was interrupted
};

Repl::Repl(const RunOptions& options)
    : options_(options), progress_(false, {}), streams_(progress_),
      input_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1, history_path(),
             [this](const std::string& prefix) { return names(prefix); }) {}

bool Repl::create() {
  std::vector<const char*> libraries;
  for (const std::string& folder : options_.libraries) libraries.push_back(folder.c_str());
  cairn_compiler_options compiler;
  cairn_compiler_options_init(&compiler);
  compiler.library_folders = libraries.data();
  compiler.library_folder_count = libraries.size();
  compiler.read = cairn_read_beneath;
  compiler.memory_bytes = compiler_memory(options_);
  compiler.cancel = interrupt_flag();
  CompilerBuffer fault;
  if (cairn_session_create(&compiler, &session_, fault.text()) != CAIRN_OK) {
    complain("vmrun: error: " + std::string(fault.view()) + "\n");
    return false;
  }
  complain(spill_warning(options_));
  cairn_vm_options machine;
  cairn_vm_options_init(&machine);
  machine.memory_bytes = options_.memory_bytes;
  machine.seed = options_.seed;
  machine.check_nan = options_.check_nan;
  machine.device = options_.device.c_str();
  machine.spill = options_.spill.empty() ? nullptr : options_.spill.c_str();
  machine.spill_bytes = options_.spill_bytes;
  machine.spill_encoding = options_.spill_encoding.empty() ? nullptr : options_.spill_encoding.c_str();
  machine.costs = options_.costs.empty() ? nullptr : options_.costs.c_str();
  machine.schedule = options_.checkpoint ? options_.checkpoint->c_str() : nullptr;
  machine.lossy = options_.lossy ? options_.lossy->c_str() : nullptr;
  machine.user = this;
  machine.output = [](void* user, const char* text, std::size_t bytes) {
    return static_cast<Repl*>(user)->print({text, bytes}) ? 0 : 1;
  };
  machine.input = [](void* user, char* buffer, std::size_t capacity) {
    auto* self = static_cast<Repl*>(user);
    self->streams_.flush(); // the question comes before the answer
    return self->input_.give(buffer, capacity);
  };
  if (options_.explain)
    machine.explain = [](void* user, const char* text, std::size_t bytes) {
      static_cast<Repl*>(user)->streams_.report({text, bytes});
      return 0;
    };
  CairnBuffer error;
  cairn_vm* vm = nullptr;
  cairn_status status = cairn_vm_create(&machine, &vm, error.text());
  vm_.reset(vm);
  if (status == CAIRN_OK) {
    if (std::string refused = grant_files(options_, vm); !refused.empty()) {
      complain("vmrun: error: " + refused + "\n");
      return false;
    }
    if (options_.explain_profile) cairn_vm_explain_as(vm, CAIRN_REPORT_PROFILE);
    return define_last_value();
  }
  complain(creation_error(status == CAIRN_BAD_ARGUMENT, error.view()));
  return false;
}

// `_` is a definition like any other, which gets another value behind each entry that has one.
bool Repl::define_last_value() {
  const std::string text = "(define " + std::string(kLastValue) + " #f)";
  CompilerBuffer bytes, fault;
  CairnBuffer error;
  cairn_module* read = nullptr;
  bool good = cairn_session_compile(session_, "<loop>", text.data(), text.size(), bytes.bytes(), bytes.size(), fault.text()) ==
                  CAIRN_OK &&
              cairn_module_read(bytes.data(), bytes.length(), &read, error.text()) == CAIRN_OK;
  const ModuleHandle module(read);
  good = good && cairn_vm_extend(vm_.get(), module.get(), error.text()) == CAIRN_OK &&
         cairn_vm_run(vm_.get(), CAIRN_UNLIMITED) == CAIRN_OK;
  if (!good) complain("vmrun: error: the loop cannot begin: " + std::string(fault.view()) + std::string(error.view()) + "\n");
  return good;
}

int Repl::run() {
  std::string error;
  if (!streams_.open_output("", 0, error) || !create()) return kBadUsage;
  if (input_.terminal()) {
    catch_interrupts([] {
      if (cairn_vm* vm = g_running.load()) cairn_vm_cancel(vm);
    });
    int version = cairn_version();
    say("Cairn " + std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
        std::to_string(version % 1000) + ". ,help lists the commands, Ctrl-D ends.\n");
  }
  std::string entry;
  while (!quit_ && !streams_.output_failed() && next_entry(entry)) handle(entry);
  if (streams_.flush(true)) return kDone;
  complain(streams_.output_fault());
  return kBadUsage;
}

// Lines until they make something whole; false at the end of input.
bool Repl::next_entry(std::string& text) {
  text.clear();
  std::string line;
  EntryHandle entry;
  fresh_line();
  streams_.flush();
  for (;;) {
    switch (input_.read(text.empty() ? "> " : ". ", line)) {
    case LineInput::Got::end:
      return !text.empty(); // what is open says where
    case LineInput::Got::interrupted:
      text.clear();
      continue;
    case LineInput::Got::line:
      break;
    }
    line += '\n';
    std::string_view code = line;
    if (text.empty()) {
      code = trimmed(line);
      if (code.empty()) continue;
      if (code[0] == ',') code.remove_prefix(std::min(code.find_first_of(" \t"), code.size()));
      cairn_entry* made = nullptr;
      cairn_entry_create(&made);
      entry.reset(made);
    }
    text += line;
    if (cairn_entry_add(entry.get(), code.data(), code.size()) != 0) return true;
  }
}

void Repl::handle(std::string_view entry) {
  std::string_view code = trimmed(entry);
  if (code == "exit" || code == "quit" || code == "help") {
    CompilerBuffer bytes, error;
    if (cairn_session_compile(session_, "", code.data(), code.size(), bytes.bytes(), bytes.size(), error.text()) != CAIRN_OK)
      return streams_.report(code == "help" ? ",help lists the commands of the loop\n" : ",quit or Ctrl-D leaves the loop\n");
    cairn_session_undo(session_); // the program has defined that name
  }
  if (code[0] != ',') {
    show_value(evaluate(entry));
    return;
  }
  std::size_t end = std::min(code.find_first_of(" \t\n("), code.size());
  command(code.substr(0, end), trimmed(code.substr(end)));
}

void Repl::command(std::string_view name, std::string_view rest) {
  constexpr std::string_view kTaking[] = {",time", ",steps", ",dis", ",grad", ",doc", ",apropos", ",load"};
  bool takes = std::find(std::begin(kTaking), std::end(kTaking), name) != std::end(kTaking);
  if (takes && rest.empty()) return streams_.report(std::string(name) + ": of what? ,help shows how it is written\n");
  if (name == ",quit") {
    quit_ = true;
  } else if (name == ",help") {
    say(kHelp);
  } else if (name == ",time" || name == ",steps") {
    Outcome outcome = evaluate(rest);
    show_value(outcome);
    if (!outcome.done) return;
    std::string text = std::to_string(outcome.steps) + (outcome.steps == 1 ? " step" : " steps");
    if (name == ",time") {
      char seconds[64];
      std::snprintf(seconds, sizeof seconds, ", %.6f s", outcome.seconds);
      text += seconds;
    }
    say(text + "\n");
  } else if (name == ",dis") {
    disassemble(rest);
  } else if (name == ",grad") {
    show_gradient(rest);
  } else if (name == ",doc") {
    std::string_view text = described(rest);
    if (text.empty())
      return streams_.report("the reference has no " + std::string(rest) + "; " + instead_of(rest) +
                             ",apropos looks for a part of a name, or a word\n");
    say(std::string(text));
  } else if (name == ",apropos") {
    std::string lines = apropos(rest);
    if (lines.empty()) {
      std::string instead = instead_of(rest);
      if (!instead.empty()) instead = "; " + instead.substr(0, instead.size() - 2);
      return streams_.report("the reference has nothing about " + std::string(rest) + instead + "\n");
    }
    say(lines);
  } else if (name == ",load") {
    load(rest);
  } else if (name == ",continue") {
    if (!stopped_) return streams_.report("nothing was interrupted\n");
    show_value(proceed());
  } else {
    streams_.report("there is no command " + std::string(name) + "; ,help lists them\n");
  }
}

// What the compiler says of a name that other languages have and this one has not, with "; " behind it; empty: nothing.
std::string Repl::instead_of(std::string_view name) {
  if (name.find_first_of(" \t\n()'\";,`") != std::string_view::npos) return "";
  CompilerBuffer bytes, error;
  if (cairn_session_compile(session_, "", name.data(), name.size(), bytes.bytes(), bytes.size(), error.text()) == CAIRN_OK) {
    cairn_session_undo(session_);
    return "";
  }
  constexpr std::string_view kSaid = "' does not exist in Cairn: ";
  std::string_view said = error.view();
  const std::string_view::size_type begin = said.find(kSaid);
  if (begin == std::string_view::npos) return "";
  said.remove_prefix(begin + kSaid.size());
  return std::string(said.substr(0, said.find('\n'))) + "; ";
}

// As a program includes a file: beneath the current folder, or a folder of a library.
void Repl::load(std::string_view path) {
  if (path.size() > 2 && path.front() == '"' && path.back() == '"') path = path.substr(1, path.size() - 2);
  std::string text = "(include \"";
  for (char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  show_value(evaluate(text + "\")"));
}

// The module that a text adds, or with `whole` one of all texts.
bool Repl::compile(std::string_view text, bool whole, ModuleHandle& module) {
  clear_interrupted();
  std::string name = "<input " + std::to_string(++entries_) + ">";
  CompilerBuffer bytes, all, error;
  if (cairn_session_compile(session_, name.c_str(), text.data(), text.size(), bytes.bytes(), bytes.size(), error.text()) !=
      CAIRN_OK) {
    streams_.report(error.view());
    return false;
  }
  if (whole && cairn_session_module(session_, all.bytes(), all.size(), error.text()) != CAIRN_OK) {
    cairn_session_undo(session_);
    streams_.report(error.view());
    return false;
  }
  const CompilerBuffer& wanted = whole ? all : bytes;
  CairnBuffer fault;
  cairn_module* read = nullptr;
  cairn_status status = cairn_module_read(wanted.data(), wanted.length(), &read, fault.text());
  module.reset(read);
  if (status != CAIRN_OK || whole) cairn_session_undo(session_); // then it is only looked at
  if (status != CAIRN_OK) streams_.report("error: " + std::string(fault.view()) + "\n");
  return status == CAIRN_OK;
}

Repl::Outcome Repl::evaluate(std::string_view text) {
  ModuleHandle module;
  if (!compile(text, false, module)) return {};
  if (stopped_) cairn_vm_abandon(vm_.get());
  stopped_ = false;
  CairnBuffer error;
  if (cairn_vm_extend(vm_.get(), module.get(), error.text()) != CAIRN_OK) {
    cairn_session_undo(session_);
    streams_.report("error: " + std::string(error.view()) + "\n");
    return {};
  }
  has_value_ = cairn_session_has_value(session_) != 0;
  so_far_ = {};
  return proceed();
}

// Runs what the machine stands before.
Repl::Outcome Repl::proceed() {
  stopped_ = false;
  std::uint64_t before = cairn_vm_steps(vm_.get());
  auto start = std::chrono::steady_clock::now();
  clear_interrupted();
  g_running = vm_.get();
  cairn_status status = CAIRN_OK;
  do status = cairn_vm_run(vm_.get(), CAIRN_UNLIMITED);
  while (status == CAIRN_CANCELLED && !interrupted()); // it was meant for an entry that has ended
  g_running = nullptr;
  so_far_.steps += cairn_vm_steps(vm_.get()) - before;
  so_far_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fresh_line();
  if (status == CAIRN_CANCELLED) {
    stopped_ = true;
    clear_interrupted();
    streams_.report("interrupted after " + std::to_string(so_far_.steps) + " steps; ,continue goes on\n");
    return {};
  }
  if (status != CAIRN_OK) {
    CairnBuffer text;
    cairn_vm_error(vm_.get(), text.text());
    streams_.report(text.view());
    return {};
  }
  so_far_.done = true;
  cairn_value value{};
  if (!has_value_ || cairn_vm_value(vm_.get(), &value) != CAIRN_OK) return so_far_;
  CairnBuffer text;
  if (cairn_value_kind(value) != CAIRN_KIND_UNSPECIFIED) cairn_vm_define(vm_.get(), kLastValue, value);
  if (cairn_value_kind(value) != CAIRN_KIND_UNSPECIFIED && cairn_value_text(vm_.get(), value, 0, text.text()) == CAIRN_OK)
    so_far_.value = text.view();
  cairn_value_release(vm_.get(), value);
  return so_far_;
}

void Repl::show_value(const Outcome& outcome) {
  if (outcome.value.empty()) return;
  winsize size{};
  const bool sized = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  say((sized ? wrapped_tensors(outcome.value, size.ws_col) : outcome.value) + "\n");
}

void Repl::show_gradient(std::string_view arguments) {
  Outcome value = evaluate("(" + std::string(arguments) + "\n)");
  if (!value.done) return;
  Outcome gradient = evaluate("(gradient " + std::string(arguments) + "\n)");
  if (gradient.done) say("value:    " + value.value + "\ngradient: " + gradient.value + "\n");
}

void Repl::disassemble(std::string_view text) {
  ModuleHandle module;
  if (!compile(text, true, module)) return;
  CairnBuffer listing;
  if (cairn_module_disassemble(module.get(), listing.text()) != CAIRN_OK) return;
  say(piece_of_listing(listing.view(), text));
}

std::vector<std::string> Repl::names(const std::string& prefix) const {
  std::vector<std::string> found;
  if (prefix.starts_with(',')) {
    for (const char* c : kCommands)
      if (std::string_view(c).starts_with(prefix)) found.emplace_back(c);
    return found;
  }
  CompilerBuffer lines;
  if (cairn_session_names(session_, prefix.c_str(), lines.text()) != CAIRN_OK) return found;
  std::string_view rest = lines.view();
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1))
    found.emplace_back(rest.substr(0, end));
  return found;
}

bool Repl::print(std::string_view text) {
  if (!text.empty()) at_line_start_ = text.back() == '\n';
  return streams_.write(text);
}

// What the program writes need not end its line; the loop's own words begin one.
void Repl::fresh_line() {
  if (!at_line_start_) print("\n");
}

} // namespace

int run_repl(const RunOptions& options) { return Repl(options).run(); }

} // namespace cairn::tools
