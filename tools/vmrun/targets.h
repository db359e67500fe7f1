// Files that options name for what a run says: looked at early, so that a bad path is known before hours of work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::tools {

// An exit code and a complete message; thrown to leave with them.
struct Leave {
  int code;
  std::string message;
};

// To be written from its start; standard error for an empty path.
int open_target(const std::string& path);
// What --stats or --profile asked for, on standard error or in the file that was opened for it. False, which has been said, if
// that failed.
bool write_target(int descriptor, const std::string& path, std::string_view text);
void make_folder(const std::string& path);

class Targets {
public:
  // A file is made beside its name and gets it when it is whole, so its folder must take one. A device stays, and so does a pipe
  // that somebody reads, who has not read all of it before this process ends: so it is open until then.
  void look_at(const std::string& path, bool may_be_pipe = true);

private:
  std::vector<int> pipes_; // kept open for their readers
};

} // namespace cairn::tools
