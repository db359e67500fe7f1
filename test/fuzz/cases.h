// The files of cases beside the sources: a line that begins with ;;; is the title of a case, what stands below it its text.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace fuzzing {

struct Case {
  std::string title, text;
};

std::ifstream opened(const char* name);
std::vector<Case> cases_of(const char* name);

} // namespace fuzzing
