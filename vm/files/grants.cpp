// See grants.h.
#include "vm/files/grants.h"

#include "vm/files/beneath.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::files {

std::string normal(std::string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!rooted)
      parts.push_back(part);
  }
  std::string out = rooted ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += '/';
    out += parts[i];
  }
  return out.empty() ? "." : out;
}

std::string Grants::absolute(std::string_view path) const {
  return normal(path.starts_with('/') ? std::string(path) : current_ + "/" + std::string(path));
}

bool Grants::add(unsigned rights, const std::string& path) {
  const std::string before = current_;
  if (current_.empty()) {
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == nullptr) return false;
    current_ = here;
  }
  std::string folder = absolute(path), file;
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 ? errno == ENOENT : !S_ISDIR(facts.st_mode)) {
    const std::size_t slash = folder.rfind('/');
    file = folder.substr(slash + 1);
    folder = slash == 0 ? "/" : folder.substr(0, slash);
  }
  auto descriptor = std::make_shared<Descriptor>(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!*descriptor) {
    const int fault = errno;
    current_ = before;
    errno = fault;
    return false;
  }
  grants_.push_back({rights, std::move(folder), std::move(file), std::move(descriptor)});
  return true;
}

// What `open` gives in the first grant that lets it: called with the folder and the path beneath it, "." where folders are asked
// for and it is the one that was granted.
template <class Open> Opened Grants::first(unsigned right, bool folders, std::string_view path, Open&& open) const {
  Opened out;
  if (grants_.empty() || path.find('\0') != std::string_view::npos) return out;
  const std::string whole = absolute(path);
  for (const Grant& grant : grants_) {
    const std::string root = grant.folder == "/" ? "/" : grant.folder + "/";
    const bool itself = folders && whole == grant.folder;
    if ((grant.rights & right) == 0 || (!itself && !whole.starts_with(root))) continue;
    const std::string rest = itself ? "." : whole.substr(root.size());
    if (rest.empty() || (!grant.file.empty() && rest != grant.file)) continue;
    out.descriptor = std::make_unique<Descriptor>(open(grant.descriptor->number(), rest));
    out.fault = errno;
    if (*out.descriptor) return out;
    out.descriptor.reset();
    if (out.fault != EXDEV && out.fault != ELOOP) return out;
    out.fault = EXDEV; // without openat2 a link is just no file
  }
  return out;
}

Opened Grants::to_read(std::string_view path) const {
  return first(kMayRead, false, path, [](int folder, const std::string& rest) { return open_beneath(folder, rest.c_str()); });
}

Opened Grants::to_list(std::string_view path) const {
  return first(kMayRead, true, path,
               [](int folder, const std::string& rest) { return open_folder_beneath(folder, rest.c_str()); });
}

Opened Grants::to_write(std::string_view path, std::string& name) const {
  return first(kMayWrite, false, path, [&](int folder, const std::string& rest) {
    const std::size_t slash = rest.rfind('/');
    name = slash == std::string::npos ? rest : rest.substr(slash + 1);
    return open_folder_beneath(folder, slash == std::string::npos ? "." : rest.substr(0, slash).c_str());
  });
}

} // namespace cairn::files
