// Which files a program may touch: what its host has granted, a folder with all beneath it or a single file. A path that a
// program names is brought into one form by its text, compared with the grants, and what is left of it is resolved by the kernel
// beneath the granted folder, so that no link leads out.
#pragma once

#include "vm/files/descriptor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::files {

enum Right : unsigned { kMayRead = 1, kMayWrite = 2 };

// A path without "." and empty parts, and without ".." behind others.
std::string normal(std::string_view path);

// An open file or folder, or why there is none.
struct Opened {
  std::unique_ptr<Descriptor> descriptor;
  int fault = 0; // errno; 0 without a descriptor: nothing that was granted has the path
};

class Grants {
public:
  // A folder, or a file beside others that stay refused; it need not be there yet. Nothing has changed where it is false, with
  // errno.
  bool add(unsigned rights, const std::string& path);
  // `path` as a program writes it: absolute, or relative to the folder that was current at the first grant. To read: the file, of
  // whatever kind. To write: the folder that it is or will be in; `name` becomes its name there.
  Opened to_read(std::string_view path) const;
  Opened to_list(std::string_view path) const; // a folder of which all may be read
  Opened to_write(std::string_view path, std::string& name) const;

private:
  struct Grant {
    unsigned rights;
    std::string folder;                     // absolute, in normal form
    std::string file;                       // empty: all that is in the folder
    std::shared_ptr<Descriptor> descriptor; // of the folder
  };
  std::string absolute(std::string_view path) const;
  template <class Open> Opened first(unsigned right, bool folders, std::string_view path, Open&& open) const;
  std::string current_; // folder; empty: nothing was granted
  std::vector<Grant> grants_;
};

} // namespace cairn::files
