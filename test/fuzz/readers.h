// The readers of files that programs have, those of the library too, each with a sound file (readers.scm): what becomes of one
// that is damaged, in a machine of the C API under a budget of memory, steps and work.
#pragma once

#include "compiler/api/cairn_compiler.h"
#include "test/fuzz/damage.h"
#include "vm/api/cairn.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace fuzzing {

class Readers {
public:
  Readers();
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // An input: a byte that chooses the reader, then the file. `most` is its largest size.
  Bytes damaged_input(Random& random, std::size_t most) const;
  Bytes damaged_input(std::span<const std::byte> input, Random& random, std::size_t most) const;

  // Reads the file, which goes to a folder of this process: the end is a value, an error with its place that names the file, or
  // the end of a budget. True: a value.
  bool attempt(std::span<const std::byte> input);
  void leave(); // removes the folder

private:
  struct Reader {
    std::string call;
    cairn_module *writes, *reads;
    Bytes sound;
  };
  cairn_status run(const cairn_module* module, std::string& error) const;
  void enter();
  void prepare(const Reader& reader);

  std::string folder_, file_;
  pid_t owner_ = 0; // of the folder: who is forked has another
  std::vector<Reader> readers_;
  const Reader* prepared_ = nullptr; // whose second file lies in the folder
};

} // namespace fuzzing
