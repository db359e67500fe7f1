// Changes of files that know where their fields are: numbers become boundaries, their neighbours or what other fields of their
// kind hold, elements of lists go, come twice or change places. Lengths of what contains them are mended, and checksums: so what
// reads the file gets to see the change itself.
#pragma once

#include "vm/bytecode/fields.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace fuzzing {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

// A number in [0, n), or 0.
inline std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

enum class FileKind : std::uint8_t { module, capsule, plan };

// Its checksum, if it is long enough to have one.
void reseal(Bytes& file, FileKind kind);

// A file in parts that may change their lengths each by itself: the sections of its module, what stands around them.
class Parts {
public:
  Parts(std::span<const std::byte> file, FileKind kind);
  Bytes joined() const; // lengths and checksums are right
  // The part with this byte of the file, and where in it; false for what is made anew by `joined`.
  bool find(std::size_t at, std::size_t& part, std::size_t& offset) const;

  std::vector<Bytes> parts;

private:
  static constexpr std::size_t kSections = 7, kTableAt = 72, kHeaderBytes = kTableAt + 16 * kSections;
  std::vector<std::size_t> begins_; // of the parts, in the file
  FileKind kind_;
  bool is_capsule_ = false, has_module_ = false;
};

struct PlacedField {
  std::size_t part, offset, size;
  cairn::bytecode::Field::Form form;
  const void* reader;
  bool is_number() const { return form != cairn::bytecode::Field::Form::bytes; }
};

// A file, taken apart once, that may be changed often.
class Original {
public:
  Original(Bytes file, FileKind kind);
  // The same file with some changes.
  Bytes changed(Random& random, const Original& donor) const;
  const Bytes& file() const { return file_; }
  std::size_t fields() const { return fields_.size(); }

private:
  Bytes file_;
  Parts parts_;
  std::vector<PlacedField> fields_;
  friend class Change;
};

// What the reader of such files reads from this one, up to where it refuses it.
std::vector<cairn::bytecode::Field> fields_of(std::span<const std::byte> file, FileKind kind);

} // namespace fuzzing
