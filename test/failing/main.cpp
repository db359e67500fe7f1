// Refuses memory to Cairn, one request after the other, and looks at what is left (see sweep.h).
//
//   test_failing [--seconds=S] [--every=N] [--filter=TEXT] [--sources] FILE...
//
// FILEs are programs as test/language/run.py runs them. Each scenario gets S seconds for each kind of refusal and is swept in
// strides if that is not enough (0: every request is refused once, whatever it takes, in scenarios that make at most N).
#include "test/failing/calls.h"
#include "test/failing/programs.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

int main(int argc, char** argv) {
  using namespace failing;
  Limits limits;
  std::string filter;
  bool sources = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&](const char* option) -> const char* {
      std::string start = std::string(option) + "=";
      return word.rfind(start, 0) == 0 ? argv[i] + start.size() : nullptr;
    };
    if (const char* s = value("--seconds"))
      limits.seconds = std::atof(s);
    else if (const char* n = value("--every"))
      limits.every = std::strtoull(n, nullptr, 10);
    else if (const char* f = value("--filter"))
      filter = f;
    else if (word == "--sources")
      sources = true;
    else
      files.push_back(std::filesystem::absolute(word));
  }
  // What programs write goes into a folder of their own.
  std::string folder = std::filesystem::temp_directory_path() / "cairn_failing_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0) return 2;
  std::vector<Scenario> scenarios;
  add_calls(scenarios);
  add_hosts(scenarios);
  std::size_t of_api = scenarios.size();
  for (const std::string& file : files) (sources ? add_sources : add_programs)(file, scenarios);

  std::vector<Kind> kinds = {Kind::memory, Kind::memory_and_all_behind, Kind::write};
#ifndef NDEBUG
  kinds.push_back(Kind::charge);
#endif
  std::uint64_t runs = 0, wrong = 0, complete = 0, swept = 0;
  for (const Scenario& scenario : scenarios) {
    if (!filter.empty() && scenario.name.find(filter) == std::string::npos) continue;
    bool all = true;
    ++swept;
    for (Kind kind : kinds) {
      if (kind == Kind::write && !scenario.spills) continue;
      Outcome outcome = sweep(scenario, kind, limits);
      runs += outcome.runs;
      wrong += outcome.wrong;
      all = all && outcome.complete;
    }
    complete += all ? 1 : 0;
  }
  for (const auto& file : std::filesystem::directory_iterator("."))
    if (file.path().filename().string().ends_with(".cairn-part")) {
      fmt::print("{} is left of a file that was not written\n", file.path().string());
      ++wrong;
    }
  std::filesystem::remove_all(folder);
  fmt::print("{} scenarios, {} of the C API; {} runs; every request refused once in {}; {} complaints\n", swept, of_api, runs,
             complete, wrong);
  return wrong == 0 ? 0 : 1;
}
