// Whole files, read and written so that a crash leaves the old file or the new one.
#pragma once

#include <string>

namespace cairn::tools {

// The bytes of a file; false with a message that names it.
bool read_file(const std::string& path, std::string& bytes, std::string& error);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the folder; false with a message.
// A path that is no regular file (a device, a pipe) is written directly.
bool write_file_atomically(const std::string& path, const void* bytes, std::size_t size, std::string& error);

} // namespace cairn::tools
