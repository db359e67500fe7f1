// A file without a name in a folder: it goes with the process. Past the page cache where the file system can do that.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace cairn::ops {

// Without a name: by the kernel where the file system knows how, else its name goes at once.
inline int open_nameless(const std::string& folder, int more) {
  const int flags = O_RDWR | O_CLOEXEC | more;
  const int made = open(folder.c_str(), flags | O_TMPFILE, 0600);
  if (made >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return made;
  std::string name = folder + "/cairn-spill-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | more);
  if (named >= 0) unlink(name.c_str());
  return named;
}

// A descriptor; negative, with errno, if there can be none.
inline int open_nameless(const std::string& folder) {
  const int direct = open_nameless(folder, O_DIRECT);
  return direct >= 0 || errno != EINVAL ? direct : open_nameless(folder, 0);
}

} // namespace cairn::ops
