// See cases.h.
#include "test/fuzz/cases.h"

#include "test/fuzz/fuzzing.h"

#include <string_view>

namespace fuzzing {

std::ifstream opened(const char* name) {
  std::ifstream file(std::string(CAIRN_FUZZ_SEEDS) + "/" + name);
  promise(file.good(), "the seeds are there", name);
  return file;
}

std::vector<Case> cases_of(const char* name) {
  constexpr std::string_view kTitle = ";;; ";
  std::vector<Case> list;
  std::string line;
  for (std::ifstream file = opened(name); std::getline(file, line);)
    if (line.starts_with(kTitle))
      list.push_back({line.substr(kTitle.size()), ""});
    else if (!list.empty())
      list.back().text += line + "\n";
  return list;
}

} // namespace fuzzing
