// See folder.h.
#include "vm/files/folder.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::files {

// A descriptor of its own, since that of the caller has a position which a stream would move.
FolderNames::FolderNames(int folder) : stream_(nullptr) {
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own >= 0) stream_ = fdopendir(own);
  if (stream_ != nullptr) return;
  fault_ = errno;
  if (own >= 0) close(own);
}

FolderNames::~FolderNames() {
  if (stream_ != nullptr) closedir(stream_);
}

FolderNames::Kind FolderNames::kind_of(const dirent& entry) const {
  if (entry.d_type == DT_REG || entry.d_type == DT_LNK) return Kind::file;
  if (entry.d_type == DT_DIR) return Kind::folder;
  if (entry.d_type != DT_UNKNOWN) return Kind::other;
  struct stat facts {}; // the file system does not say it beside the name
  if (fstatat(dirfd(stream_), entry.d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return Kind::other;
  if (S_ISREG(facts.st_mode) || S_ISLNK(facts.st_mode)) return Kind::file;
  return S_ISDIR(facts.st_mode) ? Kind::folder : Kind::other;
}

bool FolderNames::next(Entry& entry) {
  if (stream_ == nullptr) return false;
  errno = 0;
  const dirent* const found = readdir(stream_); // NOLINT(concurrency-mt-unsafe): of a stream that nobody else has
  if (found == nullptr) {
    fault_ = errno;
    return false;
  }
  entry = {found->d_name, kind_of(*found)};
  return true;
}

} // namespace cairn::files
