// Files that a host writes itself while a program runs. The program may not replace them: what the host writes would go into a
// file that nobody finds any more. A file is known by its folder and its name there, so that it does not matter by which path or
// link a program comes to it, nor whether it is there yet; and by what it is, so that other names of it are refused as well.
#pragma once

#include "vm/files/descriptor.h"

#include <memory>
#include <string>
#include <vector>

namespace cairn::files {

class Reserved {
public:
  // The file at the end of the links of `path`, which need not be there, held by `holder`. False with errno: there is no such
  // folder.
  bool add(const std::string& path, std::string holder);
  // Who holds the file of that name in the open folder; null: nobody.
  const std::string* holder(int folder, const char* name) const;

private:
  struct File {
    std::unique_ptr<Descriptor> folder;
    std::string name;
    std::string holder;
  };
  std::vector<File> files_;
};

} // namespace cairn::files
