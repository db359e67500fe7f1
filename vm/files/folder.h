// The names in a folder, one by one, in no order.
#pragma once

#include <string_view>

#include <dirent.h>

namespace cairn::files {

class FolderNames {
public:
  explicit FolderNames(int folder); // which stays open
  ~FolderNames();
  FolderNames(const FolderNames&) = delete;
  FolderNames& operator=(const FolderNames&) = delete;

  // What a name stands for. Links are not followed, so that nothing is said of what they lead to.
  enum class Kind : unsigned char { file, folder, other };
  struct Entry {
    std::string_view name; // until the next one
    Kind kind;
  };
  // False: there are no more, or it failed, which `fault` says: errno.
  bool next(Entry& entry);
  int fault() const { return fault_; }

private:
  Kind kind_of(const dirent& entry) const;
  DIR* stream_;
  int fault_ = 0;
};

} // namespace cairn::files
