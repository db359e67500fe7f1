// Files beneath a folder: the kernel resolves a path and refuses what leads out of the folder, by "..", as an absolute path or
// through a link.
#pragma once

#include <cstdint>

namespace cairn::files {

// A descriptor of the regular file `path` beneath the open folder, to be read; -1 with errno. A pipe or device is opened without
// waiting for it: whoever reads asks for its kind first. EXDEV: the path leads out.
int open_beneath(int folder, const char* path);
// The same of a folder, in which files can be made. "." is the folder itself.
int open_folder_beneath(int folder, const char* path);
// What these do where the system does not know openat2: a descriptor of each part, and then no links at all. `flags` as of open.
int open_each_part(int folder, const char* path, std::uint64_t flags);

} // namespace cairn::files
