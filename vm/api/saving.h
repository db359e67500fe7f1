// Files replaced as a whole by the host: what vm/files/replacing.h does, at a path, and the caller learns what is there.
#pragma once

#include "vm/files/replacing.h"
#include "vm/image/bytes.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace cairn::api {

using files::FileCalls;

// Writes a new file beside `path`, syncs it, renames it over `path` and syncs the folder. The new file has the permissions of the
// old one. Where `path` is a symbolic link, what it points to is replaced and the link stays. A path that is there and no regular
// file (a device, a pipe that somebody reads) is written directly. Throws Refusal: NO_FILE with a message that names the path and
// says whether the old content is still there. `content` puts what the file is to hold; where it throws, the old content stays.
void replace_file(const std::string& path, const std::function<void(image::ImageSink&)>& content, FileCalls& calls);
inline void replace_file(const std::string& path, std::span<const std::byte> content, FileCalls& calls) {
  replace_file(
      path, [content](image::ImageSink& sink) { sink.put(content); }, calls);
}

} // namespace cairn::api
