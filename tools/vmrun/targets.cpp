// See targets.h.
#include "targets.h"

#include "common/exit_codes.h"
#include "common/files.h"
#include "common/writing.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace cairn::tools {

int open_target(const std::string& path) {
  if (path.empty()) return STDERR_FILENO;
  const int descriptor = open_to_write(path, O_TRUNC);
  if (descriptor < 0) throw Leave{kBadUsage, path + ": error: cannot be written: " + writing_fault(errno) + "\n"};
  return descriptor;
}

void Targets::look_at(const std::string& path, bool may_be_pipe) {
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

void make_folder(const std::string& path) {
  if (path.empty() || is_folder(path)) return;
  std::error_code error;
  if (!std::filesystem::create_directories(path, error))
    throw Leave{kBadUsage,
                path + ": error: cannot be made a folder: " + (error ? error.message() : std::strerror(ENOTDIR)) + "\n"};
}

bool write_target(int descriptor, const std::string& path, std::string_view text) {
  if (!write_fully(descriptor, text.data(), text.size()) ||
      (!path.empty() && !(is_still_at(descriptor, path) && settle_and_close(descriptor)))) {
    const int why = errno;
    complain((path.empty() ? "standard error" : path) + ": error: cannot be written: " + writing_fault(why) + "\n");
    return false;
  }
  return true;
}

} // namespace cairn::tools
