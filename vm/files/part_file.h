// A file that is written part by part: in the folder of the file that it will be, under a name of those that are not finished,
// which its writer remembers. It is open for one part at a time, so that whoever goes on from a saved state writes the next part
// like any other.
#pragma once

#include "vm/files/replacing.h"

namespace cairn::files {

// Makes a file of so many bytes that begins with `head`. False with errno, and then there is none.
bool begin_parts(int folder, const std::string& name, std::span<const std::byte> head, std::uint64_t bytes, FileCalls& calls);

// What became of a part: `gone` where no file of that name and size is there. One of another size is removed, as nobody else
// would.
enum class Part { written, gone, failed }; // failed: with errno
Part put_part(int folder, const std::string& name, std::uint64_t bytes, const Content& content, FileCalls& calls);
// What was written so far stays after a crash.
Part sync_parts(int folder, const std::string& name, std::uint64_t bytes, FileCalls& calls);
// Syncs the file and gives it the name of its target. `mode` as `replace` has it. Syncing the folder is left to the caller.
Part finish_parts(int folder, const std::string& name, std::uint64_t bytes, const std::string& target, int mode,
                  FileCalls& calls);

} // namespace cairn::files
