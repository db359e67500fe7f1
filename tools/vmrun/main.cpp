// vmrun: runs a program, whole or in pieces, and saves and resumes it. All it can do it does through cairn.h and
// cairn_compiler.h.
#include "calibrate.h"
#include "common/exit_codes.h"
#include "common/files.h"
#include "common/handles.h"
#include "common/run_options.h"
#include "repl.h"
#include "reports.h"
#include "run_page.h"
#include "streams.h"
#include "trace_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

using namespace cairn::tools;

namespace {

// An exit code and a complete message; thrown to leave with them.
struct Leave {
  int code;
  std::string message;
};

bool ends_with(const std::string& text, std::string_view end) { return text.size() > end.size() && text.ends_with(end); }

std::atomic<cairn_vm*> g_running = nullptr; // what a signal cancels
std::atomic<int> g_signal = 0;              // the one that did

int code_of_signal() { return g_signal == SIGTERM ? kTerminated : kInterrupted; }

// The first Ctrl-C, or the first time a batch system or a container asks the process to end, stops the machine between two steps;
// a second one ends the process at once. Where a parent ignores them, they stay ignored.
void cancel_by_signals(cairn_vm* vm) {
  g_running = vm;
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {
    }, action{};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    action.sa_handler = [](int number) {
      g_signal = number;
      cairn_vm_cancel(g_running.load());
    };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

class Session {
public:
  explicit Session(const RunOptions& options)
      : options_(options), progress_(options.progress, options.steps), streams_(progress_) {}

  int run();

private:
  using Clock = std::chrono::steady_clock;

  int open_target(const std::string& path) const;
  bool write_target(int descriptor, const std::string& path, std::string_view text);
  void look_at_target(const std::string& path, bool may_be_pipe = true);
  void make_folder(const std::string& path) const;
  std::string work_message() const;
  void trace();
  void begin_trace_file();
  void create();
  void load();
  ModuleHandle compiled_or_read() const;
  void look_at_size(const std::string& file) const;
  int drive();
  int interrupted();
  std::uint64_t slice(std::uint64_t made) const;
  std::uint64_t work_left() const;
  void limit_work(std::uint64_t at_least);
  void adapt(std::uint64_t steps, bool out_of_work, Clock::duration took);
  void save_if_due(std::uint64_t made);
  Leave save();
  int stopped(std::string_view message);
  int finish(int code, std::string_view message);
  bool write_stats();
  bool write_profile();
  void warn_of_unreached();
  void warn_of_device();
  bool write_gradients();
  bool write_page(int code, std::string_view message);

  const RunOptions& options_;
  Progress progress_;
  Streams streams_;
  Reports reports_{[this](const std::string& text) { streams_.report(text); }};
  RunPage page_;
  TraceFile trace_file_;
  VmHandle vm_;
  std::vector<int> pipes_; // kept open for their readers
  int stats_descriptor_ = STDERR_FILENO, profile_descriptor_ = STDERR_FILENO;
  bool timed_ = false; // slices are short because something is due by the clock
  static constexpr std::uint64_t kLeastTimedWork = 10'000'000;
  std::uint64_t timed_slice_ = 100'000;        // steps; grows or shrinks with the program's speed
  std::uint64_t timed_work_ = kLeastTimedWork; // the same of work, as a step may be a product of large matrices
  std::uint64_t granted_work_ = 0;             // in the last slice
  std::uint64_t most_work_ = UINT64_MAX;       // that the program may have done at the end of this process
  Clock::time_point last_save_ = Clock::now();
  std::uint64_t saved_at_ = 0;
  bool save_failed_ = false;    // the last time it was due; said once
  bool reports_failed_ = false; // when a state was saved
};

int Session::run() {
  try {
    if (!options_.verify_only) { // which leaves the files of earlier runs alone
      stats_descriptor_ = open_target(options_.stats_file);
      profile_descriptor_ = open_target(options_.profile_file);
    }
    look_at_target(options_.save);
    look_at_target(options_.explain_file);
    look_at_target(options_.metrics, false); // who opens it says so
    look_at_target(options_.report);
    look_at_target(options_.trace_file);
    make_folder(options_.events);
    complain(spill_warning(options_));
    create();
    if (!options_.trace_file.empty() && !options_.verify_only) begin_trace_file();
    load();
    if (options_.verify_only) return kDone;
    std::string error;
    if (!streams_.open_output(options_.output, cairn_vm_output_bytes(vm_.get()), error)) throw Leave{kBadUsage, error};
    if (!options_.resume.empty() && !streams_.skip_input(cairn_vm_input_bytes(vm_.get()), error)) throw Leave{kBadUsage, error};
    const auto on_page = [this](const Report& report) { page_.add_earlier(report); };
    if (!reports_.open(options_, *vm_, on_page, error)) throw Leave{kBadUsage, error};
    return drive();
  } catch (const Leave& leave) {
    return finish(leave.code, leave.message);
  }
}

// Early, so that a bad path is known before hours of work.
int Session::open_target(const std::string& path) const {
  if (path.empty()) return STDERR_FILENO;
  const int descriptor = open_to_write(path, O_TRUNC);
  if (descriptor < 0) throw Leave{kBadUsage, path + ": error: cannot be written: " + writing_fault(errno) + "\n"};
  return descriptor;
}

// Early too. A file is made beside its name and gets it when it is whole, so its folder must take one. A device stays, and so
// does a pipe that somebody reads, who has not read all of it before this process ends: so it is open until then.
void Session::look_at_target(const std::string& path, bool may_be_pipe) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::status_known(status)) // a name that is too long, a link to itself, a folder that may not be looked into
    throw Leave{kBadUsage, path + ": error: cannot be written: " + error.message() + "\n"};
  if (may_be_pipe && (fs::is_fifo(status) || fs::is_socket(status))) {
    pipes_.push_back(open_to_write(path));
    if (pipes_.back() < 0) throw Leave{kBadUsage, path + ": error: cannot be written: " + writing_fault(errno) + "\n"};
  }
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) return;
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  int fault = 0;
  if (fs::is_directory(status))
    fault = EISDIR;
  else if (access(folder.c_str(), W_OK | X_OK) != 0)
    fault = errno;
  else if (!fs::is_directory(folder, error))
    fault = ENOTDIR;
  if (fault != 0) throw Leave{kBadUsage, path + ": error: cannot be written: " + std::strerror(fault) + "\n"};
}

void Session::make_folder(const std::string& path) const {
  if (path.empty() || is_folder(path)) return;
  std::error_code error;
  if (!std::filesystem::create_directories(path, error))
    throw Leave{kBadUsage,
                path + ": error: cannot be made a folder: " + (error ? error.message() : std::strerror(ENOTDIR)) + "\n"};
}

void Session::begin_trace_file() {
  CairnBuffer error;
  const auto add = [](void* user, const cairn_trace_event* event) { static_cast<Session*>(user)->trace_file_.add(*event); };
  if (cairn_vm_trace(vm_.get(), add, this, error.text()) != CAIRN_OK)
    throw Leave{kBadUsage, "vmrun: error: --trace-file: " + std::string(error.view()) + "\n"};
  trace_file_.begin(open_target(options_.trace_file), options_.trace_file);
}

void Session::create() {
  std::vector<const char*> arguments;
  for (const std::string& argument : options_.arguments) arguments.push_back(argument.c_str());
  cairn_vm_options inner;
  cairn_vm_options_init(&inner);
  inner.memory_bytes = options_.memory_bytes;
  inner.output_bytes = options_.output_bytes;
  inner.check_nan = options_.check_nan;
  inner.profile = options_.profile;
  inner.seed = options_.seed;
  inner.device = options_.device.c_str();
  inner.spill = options_.spill.empty() ? nullptr : options_.spill.c_str();
  inner.spill_bytes = options_.spill_bytes;
  inner.spill_encoding = options_.spill_encoding.empty() ? nullptr : options_.spill_encoding.c_str();
  inner.costs = options_.costs.empty() ? nullptr : options_.costs.c_str();
  inner.schedule = options_.checkpoint ? options_.checkpoint->c_str() : nullptr;
  inner.lossy = options_.lossy ? options_.lossy->c_str() : nullptr;
  inner.arguments = arguments.data();
  inner.argument_count = arguments.size();
  inner.user = this;
  inner.one_shot = 1;
  inner.output = [](void* user, const char* text, std::size_t bytes) {
    return static_cast<Session*>(user)->streams_.write({text, bytes}) ? 0 : 1;
  };
  inner.input = [](void* user, char* buffer, std::size_t capacity) {
    return static_cast<Session*>(user)->streams_.read(buffer, capacity);
  };
  inner.report = [](void* user, const cairn_reported* values, std::size_t count) {
    auto* self = static_cast<Session*>(user);
    const Report report = self->reports_.add(*self->vm_, values, count);
    if (!self->options_.report.empty()) self->page_.add(report);
    return 0;
  };
  if (options_.explain && options_.explain_file.empty())
    inner.explain = [](void* user, const char* text, std::size_t bytes) {
      static_cast<Session*>(user)->streams_.report({text, bytes});
      return 0;
    };
  if (options_.plan)
    inner.explain = [](void* user, const char* text, std::size_t bytes) {
      return static_cast<Session*>(user)->streams_.write({text, bytes}) ? 0 : 1;
    };
  CairnBuffer error;
  cairn_vm* vm = nullptr;
  cairn_status status = cairn_vm_create(&inner, &vm, error.text());
  vm_.reset(vm);
  if (status != CAIRN_OK) {
    throw Leave{status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY ? kOverBudget : kBadUsage,
                creation_error(status == CAIRN_BAD_ARGUMENT, error.view())};
  }
  if (std::string fault = grant_files(options_, vm_.get()); !fault.empty())
    throw Leave{kBadUsage, "vmrun: error: " + fault + "\n"};
  if (!options_.explain_file.empty() || !options_.report.empty()) cairn_vm_keep_gradients(vm_.get());
  if (options_.explain_profile) cairn_vm_explain_as(vm_.get(), CAIRN_REPORT_PROFILE);
  if (options_.plan) cairn_vm_only_plan(vm_.get());
}

// What a file holds is no smaller in memory; so much beside the budget is for texts that are not kept.
void Session::look_at_size(const std::string& file) const {
  constexpr std::uint64_t kBeside = std::uint64_t{32} << 20;
  const std::uint64_t size = worth_reading(file);
  if (!options_.spill.empty() && &file == &options_.resume) return; // much of it may go there
  if (options_.memory_bytes != 0 && size > kBeside && size - kBeside > options_.memory_bytes)
    throw Leave{kOverBudget,
                file + ": error: a file of " + std::to_string(size) + " bytes does not fit into the memory budget" +
                    (&file == &options_.resume ? "; if it was saved by a run with --spill, --spill=DIR does, as most "
                                                 "of it then goes to a file again"
                                               : "") +
                    "\n"};
}

ModuleHandle Session::compiled_or_read() const {
  const std::string& file = options_.file;
  std::string bytes;
  CompilerBuffer compiled;
  const void* data = nullptr;
  std::size_t size = 0;
  if (ends_with(file, ".bc")) {
    std::string error;
    look_at_size(file);
    if (!read_file(file, bytes, error)) throw Leave{kBadUsage, error};
    data = bytes.data();
    size = bytes.size();
  } else if (ends_with(file, ".scm") || ends_with(file, ".vlad")) {
    std::vector<const char*> libraries;
    for (const std::string& folder : options_.libraries) libraries.push_back(folder.c_str());
    cairn_compiler_options inner;
    cairn_compiler_options_init(&inner);
    inner.library_folders = libraries.data();
    inner.library_folder_count = libraries.size();
    inner.exports = 0;
    inner.memory_bytes = compiler_memory(options_);
    CompilerBuffer error;
    cairn_status status = cairn_compile_file(file.c_str(), &inner, compiled.bytes(), compiled.size(), error.text());
    bool memory = status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY;
    if (status != CAIRN_OK)
      throw Leave{memory ? kOverBudget : kBadUsage, memory ? file + ": " + std::string(error.view()) : std::string(error.view())};
    data = compiled.data();
    size = compiled.length();
  } else if (ends_with(file, ".capsule")) {
    throw Leave{kBadUsage, file + ": error: a capsule file is continued with --resume=" + file + "\n"};
  } else {
    const bool of_option = ends_with(file, ".html") || ends_with(file, ".json");
    throw Leave{
        kBadUsage,
        file + ": error: expected a file whose name ends in .scm, .vlad or .bc" +
            (of_option ? "; the file of an option whose value may be left out stands behind '=', as in --explain=" + file : "") +
            "\n"};
  }
  CairnBuffer error;
  cairn_module* module = nullptr;
  cairn_status status = cairn_module_read(data, size, &module, error.text());
  if (status != CAIRN_OK) throw Leave{kBadUsage, file + ": error: " + std::string(error.view()) + "\n"};
  return ModuleHandle(module);
}

void Session::load() {
  CairnBuffer error;
  cairn_status status = CAIRN_OK;
  if (options_.resume.empty()) {
    ModuleHandle module = compiled_or_read();
    status = cairn_vm_load(vm_.get(), module.get(), error.text());
  } else {
    look_at_size(options_.resume);
    status = cairn_vm_restore_file(vm_.get(), options_.resume.c_str(), error.text());
    if (status == CAIRN_NO_FILE) throw Leave{kBadUsage, std::string(error.view())};
  }
  if (status == CAIRN_OK) return;
  bool memory = status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY;
  const std::string& file = options_.resume.empty() ? options_.file : options_.resume;
  throw Leave{memory ? kOverBudget : kBadUsage, file + ": error: " + std::string(error.view()) + "\n"};
}

int Session::drive() {
  if (!options_.report.empty()) timed_slice_ = 1000;
  timed_ = progress_.on() || options_.save_every_seconds > 0 || !options_.report.empty();
  std::uint64_t goal = options_.steps.value_or(UINT64_MAX);
  std::uint64_t made = 0;
  last_save_ = Clock::now();
  std::uint64_t needed = 0; // by the next step, if the last slice was too short for it
  const std::uint64_t work = cairn_vm_work(vm_.get());
  if (options_.work && *options_.work <= UINT64_MAX - work) most_work_ = work + *options_.work;
  cancel_by_signals(vm_.get());
  while (made < goal) {
    std::uint64_t steps = slice(made);
    limit_work(std::exchange(needed, 0));
    if (options_.trace) trace();
    auto start = Clock::now();
    const std::uint64_t before = cairn_vm_steps(vm_.get());
    cairn_status status = cairn_vm_run(vm_.get(), steps);
    if (streams_.output_failed()) return finish(kBadUsage, streams_.output_fault());
    switch (status) {
    case CAIRN_OK:
      if (options_.plan) return finish(kBadUsage, "vmrun: --plan: the program ended, and there was no checkpoint-*j to plan\n");
      return finish(kDone, "");
    case CAIRN_OUT_OF_STEPS:
      break;
    case CAIRN_CANCELLED:
      return options_.plan && g_signal == 0 ? finish(kDone, "") : interrupted(); // it has been told
    case CAIRN_OUT_OF_WORK:
      needed = cairn_vm_work_needed(vm_.get());
      if (needed > work_left()) return stopped(work_message());
      steps = cairn_vm_steps(vm_.get()) - before;
      // A step that asks for its work part by part begins again each time; twice as much lets it come to an end.
      if (steps == 0) needed = std::max(needed, granted_work_ > UINT64_MAX / 2 ? UINT64_MAX : granted_work_ * 2);
      break;
    default: {
      CairnBuffer text;
      bool memory = status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY;
      cairn_vm_error(vm_.get(), text.text());
      return finish(memory ? kOverBudget : kProgramError, text.view());
    }
    }
    made += steps;
    adapt(steps, status == CAIRN_OUT_OF_WORK, Clock::now() - start);
    if (!options_.report.empty()) page_.look(*vm_);
    if (progress_.on()) progress_.show(made, *vm_, reports_);
    if (made < goal) save_if_due(made);
  }
  return stopped("");
}

// By a limit; `message` says so.
int Session::stopped(std::string_view message) {
  Leave saved = options_.save.empty() ? Leave{kDone, ""} : save();
  if (saved.code == kInterrupted || saved.code == kTerminated) return interrupted(); // the first one: it saves again
  return saved.code == kDone ? finish(kOutOfSteps, message) : finish(saved.code, saved.message);
}

// By a signal: where the run stood, and its state if there is a file for it.
int Session::interrupted() {
  const int code = code_of_signal();
  CairnBuffer where;
  std::string said = cairn_vm_where(vm_.get(), where.text()) == CAIRN_OK ? std::string(where.view()) : "";
  if (options_.save.empty()) return finish(code, said);
  if (Leave saved = save(); saved.code != kDone) return finish(saved.code, said + saved.message);
  return finish(code, said + "vmrun: vmrun " + options_.again + " goes on from here\n");
}

// A step that the whole budget does not hold will never be made with it; otherwise there is nothing to say, as with --steps.
std::string Session::work_message() const {
  std::uint64_t needed = cairn_vm_work_needed(vm_.get());
  if (needed <= *options_.work) return "";
  return "vmrun: --work: the next step alone needs at least " + std::to_string(needed) + ", the budget is " +
         std::to_string(*options_.work) + "\n";
}

void Session::trace() {
  CairnBuffer text;
  if (cairn_vm_instruction(vm_.get(), text.text()) != CAIRN_OK) return;
  streams_.report(std::to_string(cairn_vm_steps(vm_.get())) + "  " + std::string(text.view()) + "\n");
}

// Steps until something is due.
std::uint64_t Session::slice(std::uint64_t made) const {
  std::uint64_t steps = options_.steps.value_or(UINT64_MAX) - made;
  if (options_.save_every_steps != 0) steps = std::min(steps, options_.save_every_steps - (made - saved_at_));
  if (timed_) steps = std::min(steps, timed_slice_);
  return options_.trace ? 1 : steps;
}

// Slices of about a twentieth of a second: often enough for the clock, seldom enough to cost nothing. A page wants to see what is
// held inside of gradients, too, a few of which may be over in that time.
void Session::adapt(std::uint64_t steps, bool out_of_work, Clock::duration took) {
  if (!timed_ || (!out_of_work && steps != timed_slice_)) return;
  const auto aim = options_.report.empty() ? std::chrono::milliseconds(50) : std::chrono::milliseconds(4);
  const std::uint64_t least = options_.report.empty() ? 1000 : 10;
  const auto adapted = [&](std::uint64_t slice, std::uint64_t at_least) {
    if (took < aim / 2) return std::min<std::uint64_t>(slice * 2, std::uint64_t{1} << 40);
    return took > aim * 2 ? std::max(slice / 2, at_least) : slice;
  };
  if (out_of_work)
    timed_work_ = adapted(timed_work_, kLeastTimedWork);
  else
    timed_slice_ = adapted(timed_slice_, least);
}

// What cannot be stopped may have taken more than there was.
std::uint64_t Session::work_left() const {
  const std::uint64_t work = cairn_vm_work(vm_.get());
  return work < most_work_ ? most_work_ - work : 0;
}

// What is left of --work, and no more than a slice, but for a step that alone takes more.
void Session::limit_work(std::uint64_t at_least) {
  std::uint64_t left = most_work_ == UINT64_MAX ? CAIRN_UNLIMITED : work_left();
  if (timed_) left = std::min(left, std::max(timed_work_, at_least));
  cairn_vm_limit_work(vm_.get(), granted_work_ = left);
}

void Session::save_if_due(std::uint64_t made) {
  bool by_steps = options_.save_every_steps != 0 && made - saved_at_ == options_.save_every_steps;
  bool by_time = options_.save_every_seconds > 0 &&
                 std::chrono::duration<double>(Clock::now() - last_save_).count() >= options_.save_every_seconds;
  if (!by_steps && !by_time) return;
  // The disk may have room next time, and the budget too. Until then there is the old file, and the run goes on.
  Leave saved = save();
  // The signal stopped the save, and it is the run that it was meant for: the next slice sees it again and makes no step.
  if (saved.code == kInterrupted || saved.code == kTerminated) return cairn_vm_cancel(vm_.get());
  bool failed = saved.code != kDone;
  if (failed && !save_failed_)
    streams_.report(saved.message + "vmrun: warning: the run goes on and is saved when it is due again\n");
  save_failed_ = failed;
  saved_at_ = made;
  last_save_ = Clock::now();
}

// Output and reports first: files may hold more than the state has written, never less. kDone, or what went wrong, which
// may be that a signal came meanwhile.
Leave Session::save() {
  if (!streams_.flush(true)) throw Leave{kBadUsage, streams_.output_fault()};
  // A state is worth more than curves.
  if (std::string faults; !reports_.settle(faults) && !std::exchange(reports_failed_, true))
    streams_.report(faults + "vmrun: warning: states are saved all the same\n");
  CairnBuffer error;
  cairn_status status = cairn_vm_save_file(vm_.get(), options_.save.c_str(), error.text());
  if (status == CAIRN_OK) return {kDone, ""};
  if (status == CAIRN_NO_FILE) return {kBadUsage, std::string(error.view())};
  bool memory = status == CAIRN_OVER_BUDGET || status == CAIRN_OUT_OF_MEMORY;
  const int code = status == CAIRN_CANCELLED ? code_of_signal() : memory ? kOverBudget : kProgramError;
  return {code, "vmrun: error: the state cannot be saved: " + std::string(error.view()) + "\n"};
}

int Session::finish(int code, std::string_view message) {
  bool good = streams_.flush(true);
  progress_.hide();
  complain(message);
  if (!good && code != kBadUsage) {
    complain(streams_.output_fault());
    code = kBadUsage;
  }
  if (std::string faults; !reports_.settle(faults) && code != kBadUsage) {
    complain(faults);
    code = kBadUsage;
  }
  if (std::string fault; trace_file_.begun() && !trace_file_.end(fault) && code != kBadUsage) {
    complain(fault);
    code = kBadUsage;
  }
  if (vm_ == nullptr || code == kBadUsage) return code;
  warn_of_unreached();
  warn_of_device();
  if (options_.stats && !write_stats()) code = kBadUsage;
  if (options_.profile && !write_profile()) code = kBadUsage;
  if (!options_.explain_file.empty() && !write_gradients()) code = kBadUsage;
  if (!options_.report.empty() && !write_page(code, message)) code = kBadUsage;
  return code;
}

void Session::warn_of_unreached() {
  CairnBuffer place;
  if (cairn_vm_unreached(vm_.get(), place.text()) != CAIRN_OK || place.view().empty()) return;
  complain(
      std::string(place.view()) +
      ": warning: the value that is differentiated here depends on none of the parameters, which an update therefore leaves "
      "as they are (or lets decay): does the loss take them from its argument, or from elsewhere, or through stop-gradient?\n");
}

void Session::warn_of_device() {
  CairnBuffer text;
  if (cairn_vm_device_warning(vm_.get(), text.text()) != CAIRN_OK || text.view().empty()) return;
  complain("vmrun: warning: --device: " + std::string(text.view()) + "\n");
}

// What --stats or --profile asked for, on standard error or in the file that was opened for it.
bool Session::write_target(int descriptor, const std::string& path, std::string_view text) {
  if (!write_fully(descriptor, text.data(), text.size()) ||
      (!path.empty() && !(is_still_at(descriptor, path) && settle_and_close(descriptor)))) {
    const int why = errno;
    complain((path.empty() ? "standard error" : path) + ": error: cannot be written: " + writing_fault(why) + "\n");
    return false;
  }
  return true;
}

bool Session::write_profile() {
  CairnBuffer text;
  if (cairn_vm_profile(vm_.get(), text.text()) == CAIRN_OK)
    return write_target(profile_descriptor_, options_.profile_file, text.view());
  complain("vmrun: error: there is no memory for the profile\n");
  return false;
}

bool Session::write_gradients() {
  const cairn_report form = ends_with(options_.explain_file, ".json") ? CAIRN_REPORT_JSON : CAIRN_REPORT_HTML;
  CairnBuffer text, error;
  if (cairn_vm_gradients(vm_.get(), form, text.text()) != CAIRN_OK) {
    complain("vmrun: error: there is no memory for what --explain says\n");
    return false;
  }
  if (cairn_file_write(options_.explain_file.c_str(), text.view().data(), text.view().size(), error.text()) == CAIRN_OK)
    return true;
  complain(error.view());
  return false;
}

bool Session::write_page(int code, std::string_view message) {
  page_.look(*vm_, true);
  const std::string text = page_.text(*vm_, options_, code, message);
  CairnBuffer error;
  if (cairn_file_write(options_.report.c_str(), text.data(), text.size(), error.text()) == CAIRN_OK) return true;
  complain(error.view());
  return false;
}

bool Session::write_stats() {
  CairnBuffer json;
  if (cairn_vm_statistics(vm_.get(), json.text()) == CAIRN_OK)
    return write_target(stats_descriptor_, options_.stats_file, std::string(json.view()) + "\n");
  complain("vmrun: error: there is no memory for the counters\n");
  return false;
}

} // namespace

int main(int argc, char** argv) {
  // A closed pipe or a limit on the size of files shows as a failed write, which is reported like any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  RunOptions options;
  if (auto code = parse_run_options(argc, argv, options)) return *code;
  if (options.calibrate) return calibrate(options.calibrate_file, options.spill);
  if (options.file.empty() && options.resume.empty()) return run_repl(options);
  return Session(options).run();
}
