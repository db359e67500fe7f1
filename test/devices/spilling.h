// A folder of a test's own, and the file in it that has no name.
#pragma once

#include <filesystem>
#include <string>

#include <unistd.h>

namespace devices_testing {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("cairn-spill-test-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

// The file of this process that has no name, by a descriptor of its own.
inline int nameless_file(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (!error && target.starts_with(folder.string()) && target.find("(deleted)") != std::string::npos)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

} // namespace devices_testing
