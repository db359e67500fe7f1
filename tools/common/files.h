// Whole files, read and written so that a crash leaves the old file or the new one.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::tools {

// The bytes of a module or capsule file; false with a message that names it. Of a file that is neither, or whose head says that
// it has another length, its beginning, for whoever says what is wrong with it: a file may be long and hold nothing.
bool read_file(const std::string& path, std::string& bytes, std::string& error);

// All of a small file of text; false with a message that names it, as where it is longer than anyone writes.
bool read_text(const std::string& path, std::string& text, std::string& error);

// How much of a regular file that would be; 0 if it is not known.
std::uint64_t worth_reading(const std::string& path);

// Whether there is a folder of that name; no name is an error.
bool is_folder(const std::string& path);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the folder; false with a message.
// A path that is no regular file (a device, a pipe) is written directly.
bool write_file_atomically(const std::string& path, const void* bytes, std::size_t size, std::string& error);

} // namespace cairn::tools
