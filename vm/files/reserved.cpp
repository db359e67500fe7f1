// See reserved.h.
#include "vm/files/reserved.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cairn::files {

namespace {

constexpr int kMostLinks = 40; // as many as the system follows

bool same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What a chain of links ends at, which need not be there.
bool follow(std::string& path) {
  char target[PATH_MAX];
  for (int links = 0; links <= kMostLinks; ++links) {
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) return true;
    const std::string to(target, static_cast<std::size_t>(length));
    path = to.starts_with('/') ? to : folder_of(path) + "/" + to;
  }
  errno = ELOOP;
  return false;
}

} // namespace

bool Reserved::add(const std::string& path, std::string holder) {
  std::string target = path;
  if (!follow(target)) return false;
  auto folder = std::make_unique<Descriptor>(open(folder_of(target).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!*folder) return false;
  files_.push_back({std::move(folder), target.substr(target.rfind('/') + 1), std::move(holder)});
  return true;
}

const std::string* Reserved::holder(int folder, const char* name) const {
  if (files_.empty()) return nullptr;
  struct stat here {
  }, there{}, file{}, held{};
  const bool known = fstat(folder, &here) == 0, exists = fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0;
  for (const File& f : files_) {
    if (known && f.name == name && fstat(f.folder->number(), &there) == 0 && same(here, there)) return &f.holder;
    if (exists && fstatat(f.folder->number(), f.name.c_str(), &held, AT_SYMLINK_NOFOLLOW) == 0 && same(file, held))
      return &f.holder;
  }
  return nullptr;
}

} // namespace cairn::files
