// What stands at a path, and what is said when it cannot be replaced.
#include "vm/api/saving.h"

#include "vm/api/border.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cairn::api {

namespace {

constexpr mode_t kPermissions = 0777;

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw Refusal{CAIRN_NO_FILE, fmt::format("{}: error: {}: {}\n", path, what, std::strerror(errno))};
}

using Content = std::function<void(image::ImageSink&)>;

// A sink of files for who writes images.
class ImageFile final : public image::ImageSink {
public:
  explicit ImageFile(files::FileSink& sink) : sink_(sink) {}
  void put(std::span<const std::byte> bytes) override { sink_.put(bytes); }
  bool can_patch() const override { return sink_.can_patch(); }
  void patch(std::uint64_t at, std::span<const std::byte> bytes) override { sink_.patch(at, bytes); }

private:
  files::FileSink& sink_;
};

void content_into(const Content& content, files::FileSink& sink) {
  ImageFile file(sink);
  content(file);
}

// What a chain of links ends at.
std::string behind_links(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return path;
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) refuse(path, "is a link that cannot be followed");
  return real.get();
}

// Opening waits for nobody: a pipe may never have a reader. Writing waits, as ever.
void write_directly(const std::string& path, const Content& content, FileCalls& calls) {
  files::OpenFile file(calls, calls.open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK));
  if (!file && errno == ENXIO)
    throw Refusal{CAIRN_NO_FILE,
                  path + ": error: cannot be written: nobody reads from it; start the reader first, or name a file\n"};
  if (!file || fcntl(file.number(), F_SETFL, 0) != 0 ||
      !files::fill([&](files::FileSink& sink) { content_into(content, sink); }, {calls, file.number(), false}) || !file.close())
    refuse(path, "cannot be written");
}

} // namespace

void replace_file(const std::string& path, const Content& content, FileCalls& calls) {
  std::string target = behind_links(path);
  struct stat old {};
  bool exists = stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) return write_directly(target, content, calls);
  std::size_t slash = target.rfind('/');
  std::string folder_name = slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (name.empty()) {
    errno = EISDIR;
    refuse(path, "cannot be written");
  }
  files::OpenFile folder(calls, calls.open(folder_name.c_str(), O_RDONLY | O_DIRECTORY));
  std::string_view fault = exists ? "cannot be written, the old file stays" : "cannot be written";
  if (!folder) refuse(path, fault);
  const files::Content filled = [&](files::FileSink& sink) { content_into(content, sink); };
  if (!files::replace(folder.number(), name, exists ? static_cast<int>(old.st_mode & kPermissions) : -1, filled, calls))
    refuse(path, fault);
  // Some file systems do not sync folders; they say so.
  if (!files::sync(calls, folder.number()) && errno != EINVAL && errno != ENOTSUP)
    refuse(path, "is written, but its folder cannot be synced: after a crash the old file may be back");
}

} // namespace cairn::api
