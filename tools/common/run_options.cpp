// Options before the file belong to vmrun, everything after it to the program; so the line is cut there before CLI11 sees it.
#include "common/run_options.h"

#include "common/arguments.h"
#include "common/files.h"
#include "common/handles.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

namespace cairn::tools {

namespace {

// Values as the user wrote them.
struct Raw {
  std::string memory, output_limit, steps, work, save_every, seed, checkpoint, lossy, stats, profile, explain, costs, calibrate,
      spill;
  std::vector<std::string> devices;
};

// CLI11 does not know of the file and the program's arguments, which are cut off before it sees the line.
struct RunFormatter : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: vmrun [options] FILE.scm|FILE.vlad|FILE.bc [ARGUMENT ...]\n       vmrun [options] --resume=FILE\n"
           "       vmrun [options]                 a read-eval-print loop\n";
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = Formatter::make_option_name(option, is_positional);
    std::size_t brace = name.find('{');
    return brace == std::string::npos ? name : name.substr(0, brace) + "[=FILE]";
  }
};

template <class T> T require(std::optional<T> parsed, const std::string& option, const std::string& text, const char* expected) {
  if (!parsed) throw UsageError(option + ": expected " + expected + ", got \"" + text + "\"");
  return *parsed;
}

// So that a shell reads it as it is.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What the line that goes on with a saved state needs.
std::string options_again(const CLI::App& app, const RunOptions& options) {
  std::string out = options.save.empty() ? "" : shell_word("--resume=" + options.save);
  for (const char* option : {"--memory", "--spill", "--spill-encoding", "--device", "--output", "--output-limit", "--metrics",
                             "--events", "--report", "--read", "--write"})
    for (const std::string& value : app.get_option(option)->results()) out += " " + shell_word(std::string(option) + "=" + value);
  return out;
}

// What follows the last comma is a size if it can be one: folders may have commas in their names.
void interpret_spill(const std::string& text, RunOptions& options) {
  const std::size_t comma = text.rfind(',');
  options.spill = text;
  if (comma != std::string::npos && !is_folder(text)) {
    options.spill = text.substr(0, comma);
    const std::string size = text.substr(comma + 1);
    options.spill_bytes = require(parse_size(size), "--spill", size, "a size like 20GiB behind the comma");
  }
  if (options.spill.empty()) throw UsageError("--spill: expected a folder, got \"" + text + "\"");
}

void interpret(const CLI::App& app, const Raw& raw, RunOptions& options) {
  for (std::size_t i = 0; i < raw.devices.size(); ++i) {
    if (raw.devices[i].find(';') != std::string::npos)
      throw UsageError("--device: `" + raw.devices[i] +
                       "`: several devices are several options, and no folder of one has a semicolon in its name");
    options.device = i == 0 ? raw.devices[i] : options.device + ';' + raw.devices[i];
  }
  if (app.count("--memory") != 0)
    options.memory_bytes = require(parse_size(raw.memory), "--memory", raw.memory, "a size like 256MiB");
  if (app.count("--spill") != 0) interpret_spill(raw.spill, options);
  if (app.count("--spill-encoding") != 0 && options.spill.empty())
    throw UsageError("--spill-encoding: of what goes to a file, which --spill=DIR makes");
  if (app.count("--output-limit") != 0)
    options.output_bytes = require(parse_size(raw.output_limit), "--output-limit", raw.output_limit, "a size like 1MiB");
  if (app.count("--steps") != 0)
    options.steps = require(parse_count(raw.steps), "--steps", raw.steps, "a number of steps in digits, like 1000000");
  if (app.count("--work") != 0)
    options.work = require(parse_count(raw.work), "--work", raw.work, "an amount of work, a whole number");
  if (app.count("--seed") != 0) options.seed = require(parse_count(raw.seed), "--seed", raw.seed, "a whole number below 2^64");
  if (app.count("--checkpoint") != 0) options.checkpoint = raw.checkpoint;
  if (app.count("--lossy") != 0) options.lossy = raw.lossy;
  if (app.count("--save-every") != 0) {
    if (auto steps = parse_count(raw.save_every); steps && *steps > 0)
      options.save_every_steps = *steps;
    else
      options.save_every_seconds =
          require(parse_time(raw.save_every), "--save-every", raw.save_every, "a number of steps or a time like 10s or 5min");
  }
  if (std::string error; app.count("--costs") != 0 && !read_text(raw.costs, options.costs, error))
    throw UsageError("--costs: " + error);
  options.calibrate = app.count("--calibrate") != 0;
  if (raw.calibrate != "-") options.calibrate_file = raw.calibrate;
  options.stats = app.count("--stats") != 0;
  if (raw.stats != "-") options.stats_file = raw.stats;
  options.profile = app.count("--profile") != 0;
  if (raw.profile != "-") options.profile_file = raw.profile;
  if (app.count("--metrics") != 0 && !options.metrics.ends_with(".csv"))
    throw UsageError("--metrics: expected a file whose name ends in .csv, got \"" + options.metrics + "\"");
  if (app.count("--trace-file") != 0 && !options.trace_file.ends_with(".json"))
    throw UsageError("--trace-file: expected a file whose name ends in .json, got \"" + options.trace_file + "\"");
  if (app.count("--report") != 0 && !options.report.ends_with(".html"))
    throw UsageError("--report: expected a file whose name ends in .html, got \"" + options.report + "\"");
  options.explain = app.count("--explain") != 0;
  options.explain_profile = raw.explain == "profile";
  if (raw.explain == "-" || raw.explain.empty() || options.explain_profile) return;
  options.explain_file = raw.explain;
  if (!raw.explain.ends_with(".html") && !raw.explain.ends_with(".json"))
    throw UsageError("--explain: expected a file whose name ends in .html (drawings) or .json, or profile, got \"" + raw.explain +
                     "\"");
}

// A file of the command line and what it is for.
struct Use {
  const char* option;
  std::string path; // empty: there is none
  bool written;
};

std::vector<Use> files_of(const RunOptions& options) {
  return {{"the program", options.file, false},
          {"--resume", options.resume, false},
          {"--output", options.output, true},
          {"--save", options.save, true},
          {"--stats", options.stats_file, true},
          {"--profile", options.profile_file, true},
          {"--explain", options.explain_file, true},
          {"--metrics", options.metrics, true},
          {"--events", options.events.empty() ? "" : events_file(options.events), true},
          {"--report", options.report, true},
          {"--trace-file", options.trace_file, true}};
}

// A file is written for one purpose, and what is read is not written over. A terminal or /dev/null may take anything; a run may
// go on in the file that it was resumed from.
void check_files(const RunOptions& options) {
  namespace fs = std::filesystem;
  const std::vector<Use> uses = files_of(options);
  auto is_file = [](const std::string& path) {
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    return !path.empty() && (!fs::exists(status) || fs::is_regular_file(status));
  };
  // Where something written there would be, also behind a link to what does not exist yet.
  auto place = [](fs::path path) {
    std::error_code error;
    path = fs::absolute(path, error);
    for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(path, error)); ++links)
      path = path.parent_path() / fs::read_symlink(path, error);
    return fs::weakly_canonical(path, error);
  };
  auto same = [&](const std::string& a, const std::string& b) {
    std::error_code error;
    return fs::equivalent(a, b, error) || place(a) == place(b);
  };
  for (auto second = uses.begin(); second != uses.end(); ++second)
    for (auto first = uses.begin(); first != second; ++first) {
      bool goes_on = first->path == options.resume && second->path == options.save;
      if (second->written && !goes_on && is_file(first->path) && is_file(second->path) && same(first->path, second->path))
        throw UsageError(std::string(second->option) + ": \"" + second->path + "\" is already the file of " + first->option);
    }
}

void check_together(const CLI::App& app, const RunOptions& options) {
  if (options.calibrate) {
    const std::size_t others = app.count("--spill") != 0 ? 2 : 1;
    if (app.get_options([](const CLI::Option* option) { return option->count() != 0; }).size() > others || !options.file.empty())
      throw UsageError("--calibrate stands alone, but for --spill: it measures this machine and runs no program");
    return;
  }
  check_files(options);
  if (options.plan)
    for (const char* option : {"--checkpoint", "--explain", "--save", "--resume"})
      if (app.count(option) != 0) throw UsageError(std::string("--plan reverses nothing: it cannot be given with ") + option);
  if (options.save.empty() && (options.save_every_steps != 0 || options.save_every_seconds != 0))
    throw UsageError("--save-every needs --save=FILE to say where");
  check_libraries(options.libraries);
  if (options.resume.empty()) {
    if (!options.file.empty()) return;
    for (const char* option :
         {"--steps", "--work", "--save", "--save-every", "--output", "--output-limit", "--stats", "--profile", "--trace",
          "--trace-file", "--progress", "--plan", "--verify-only", "--metrics", "--events", "--report"})
      if (app.count(option) != 0) throw UsageError(std::string(option) + " needs a program; the loop has none");
    if (!options.explain_file.empty()) throw UsageError("--explain=FILE needs a program; the loop explains on standard error");
    return;
  }
  if (!options.file.empty())
    throw UsageError("--resume goes on with the program in the capsule file; \"" + options.file + "\" cannot be named too");
  for (const char* option : {"--checkpoint", "--lossy", "--costs", "--seed", "--library"})
    if (app.count(option) != 0)
      throw UsageError(std::string(option) + " is part of the saved state and cannot be given with --resume");
}

} // namespace

std::optional<int> parse_run_options(int argc, char** argv, RunOptions& options) {
  Raw raw;
  CLI::App app("Runs a Cairn program.", "vmrun");
  app.formatter(std::make_shared<RunFormatter>());
  add_common_options(app, {{std::begin(kEveryExit), std::end(kEveryExit)}, true});
  app.add_option("--checkpoint", raw.checkpoint, "schedule of checkpoint-*j, e.g. binomial,snapshots=8 (auto)")
      ->type_name("SPEC");
  app.add_option("--lossy", raw.lossy,
                 "what tapes may keep with an error: absolute=BOUND, relative=BOUND or "
                 "adaptive[,operators=convolution+product+batch-normalization+...][,form=small] (none)")
      ->type_name("SPEC");
  app.add_option("--costs", raw.costs, "how long parts of a program take, for plans: a table that --calibrate wrote")
      ->type_name("FILE");
  app.add_flag("--calibrate{-}", raw.calibrate,
               "measure how long parts of programs take here, and write the table for --costs, to standard output or into =FILE");
  app.add_option("--memory", raw.memory, "budget of accounted memory, e.g. 256MiB (3/4 of what there is)")->type_name("SIZE");
  app.add_option(
         "--spill", raw.spill,
         "a folder for a file, of at most SIZE with DIR,SIZE, to which planned gradients put aside what memory does not hold")
      ->type_name("DIR");
  app.add_option(
         "--spill-encoding", options.spill_encoding,
         "whether what goes there is encoded, without loss: auto, where that is faster by the table of costs, always or never "
         "(auto)")
      ->type_name("WHEN");
  app.add_option("--device", raw.devices,
                 "where tensors live: cpu, emulated[:N][,memory=SIZE][,bandwidth=SIZE][,host=SIZE][,disk=FOLDER] or "
                 "cuda[:N][,memory=SIZE][,host=SIZE][,disk=FOLDER] (cpu); repeated, others that the program may name")
      ->type_name("DEVICE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--steps", raw.steps, "stop after exactly N steps")->type_name("N");
  app.add_option("--work", raw.work, "stop before the step that would take more work than N: flops and bytes of large operations")
      ->type_name("N");
  app.add_option("--save", options.save,
                 "write the state there when stopped by --steps, --work, Ctrl-C or SIGTERM, and every --save-every")
      ->type_name("FILE");
  app.add_option("--save-every", raw.save_every, "save every N steps or TIME (10s, 5min) and go on")->type_name("N|TIME");
  app.add_option("--resume", options.resume, "go on from a saved state")->type_name("FILE");
  app.add_option("--output", options.output, "the program's output goes there")->type_name("FILE");
  app.add_option("--output-limit", raw.output_limit, "the most that the program may write, e.g. 1MiB")->type_name("SIZE");
  app.add_flag("--profile{-}", raw.profile,
               "steps, time and bytes by procedure and line at exit, on standard error or into =FILE");
  app.add_flag("--check-nan", options.check_nan, "stop at the first NaN, in a tensor or a number, with its operator and line")
      ->disable_flag_override();
  app.add_flag("--trace", options.trace, "every instruction before it is executed, on standard error")->disable_flag_override();
  app.add_option(
         "--trace-file", options.trace_file,
         "a timeline of what an emulated device or a GPU did in its virtual time, FILE.json, for Perfetto and chrome://tracing")
      ->type_name("FILE");
  app.add_flag("--stats{-}", raw.stats, "counters as a line of JSON at exit, on standard error or into =FILE");
  app.add_flag("--explain{-}", raw.explain,
               "what each checkpoint-*j did and why, on standard error, with the intervals of plans as =profile, or at exit as "
               "=FILE.html (drawings) or =FILE.json");
  app.add_flag("--plan", options.plan,
               "run the first checkpoint-*j forward only, and print what time it would take in which memory")
      ->disable_flag_override();
  app.add_flag("--progress", options.progress, "show progress (on by default on a terminal)")->disable_flag_override();
  app.add_option("--metrics", options.metrics,
                 "what the program reports goes there as a table, FILE.csv; with --resume behind what is there")
      ->type_name("FILE");
  app.add_option("--events", options.events,
                 "what the program reports goes into that folder for TensorBoard; with --resume behind what is there")
      ->type_name("DIR");
  app.add_option("--report", options.report,
                 "at exit a page about the run, FILE.html: curves of what was reported, memory and speed over time, gradients")
      ->type_name("FILE");
  app.add_option("--seed", raw.seed, "of the program's random numbers (0)")->type_name("N");
  app.add_option("--library", options.libraries, "a folder where (import name) looks; may be repeated")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto add_folders = [&app](const char* name, std::vector<std::string>& to, const char* text) {
    app.add_option(name, to, text)->type_name("PATH")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_folders("--read", options.readable,
              "a file or folder that the program may read, beside the current folder; may be repeated");
  add_folders("--write", options.writable,
              "a file or folder that the program may write, beside the current folder; may be repeated");
  app.add_flag("--verify-only", options.verify_only, "check the program, do not run it")->disable_flag_override();

  std::vector<std::string> words(argv + 1, argv + argc);
  std::size_t cut = first_operand(app, words);
  std::vector<std::string> own(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(cut));
  if (!own.empty() && own.back() == "--") own.pop_back();
  if (auto code = parse_arguments(app, own)) return code;
  if (cut < words.size()) {
    options.file = words[cut];
    if (options.file.empty()) return bad_usage("vmrun", "the name of the program's file is empty");
    options.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(cut) + 1, words.end());
  }
  if (app.count("--progress") == 0) options.progress = isatty(STDERR_FILENO) == 1;
  try {
    interpret(app, raw, options);
    check_together(app, options);
    options.again = options_again(app, options);
    return std::nullopt;
  } catch (const UsageError& e) {
    return bad_usage("vmrun", e.what());
  }
}

std::string events_file(const std::string& folder) { return folder + "/events.out.tfevents.cairn"; }

std::string grant_files(const RunOptions& options, cairn_vm* vm) {
  CairnBuffer error;
  cairn_vm_grant(vm, CAIRN_GRANT_READ | CAIRN_GRANT_WRITE, ".", nullptr); // a folder that is gone has no files
  for (const std::string& path : options.readable)
    if (cairn_vm_grant(vm, CAIRN_GRANT_READ, path.c_str(), error.text()) != CAIRN_OK)
      return "--read: " + std::string(error.view());
  for (const std::string& path : options.writable)
    if (cairn_vm_grant(vm, CAIRN_GRANT_WRITE, path.c_str(), error.text()) != CAIRN_OK)
      return "--write: " + std::string(error.view());
  for (const Use& use : files_of(options))
    if (use.written && !use.path.empty() && cairn_vm_reserve(vm, use.path.c_str(), use.option, error.text()) != CAIRN_OK)
      return std::string(use.option) + ": " + std::string(error.view());
  // What a shell has opened. Of what is no file, no program could write over it either.
  cairn_vm_reserve(vm, "/proc/self/fd/1", "standard output", nullptr);
  cairn_vm_reserve(vm, "/proc/self/fd/2", "standard error", nullptr);
  return "";
}

std::uint64_t compiler_memory(const RunOptions& options) {
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  return options.memory_bytes == 0 ? 0 : std::max(options.memory_bytes, kLeast);
}

std::string spill_warning(const RunOptions& options) {
  constexpr std::uint64_t kBuffer = std::uint64_t{1} << 20; // of who writes there and reads
  if (options.spill.empty()) return "";
  if (options.spill_bytes != 0 && options.spill_bytes < kBuffer)
    return "vmrun: warning: --spill: a file of " + std::to_string(options.spill_bytes) +
           " bytes holds less than its buffer takes of the memory, 1 MiB; give it more, as in --spill=" + options.spill +
           ",1GiB\n";
  if (options.memory_bytes != 0 && options.memory_bytes < 2 * kBuffer)
    return "vmrun: warning: --spill: nothing is put aside with a memory budget below 2 MiB, as its buffer takes 1 MiB\n";
  return "";
}

std::string creation_error(bool bad_argument, std::string_view error) {
  std::string option = bad_argument ? "--checkpoint: " : "";
  for (const std::string_view named : {"device: ", "costs: ", "spill: ", "spill-encoding: ", "lossy: "})
    if (error.starts_with(named)) {
      option = "--" + std::string(named);
      error.remove_prefix(named.size());
    }
  return "vmrun: error: " + option + std::string(error) + "\n";
}

} // namespace cairn::tools
