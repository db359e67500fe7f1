// See reseal.h. The module inside is resealed first, since the checksum of the capsule file covers it.
#include "vm/image/reseal.h"

#include "vm/bytecode/bytes.h"
#include "vm/bytecode/reseal.h"
#include "vm/image/header.h"

namespace cairn::image {

namespace {

// The module of a capsule file, as far as its length can be believed.
std::span<std::byte> module_in(std::span<std::byte> file) {
  bytecode::ByteReader in(file);
  in.take(kChecksummedFrom);
  in.text();
  std::uint64_t size = in.u64();
  std::size_t at = file.size() - in.left();
  in.take(size);
  return file.subspan(at, static_cast<std::size_t>(size));
}

} // namespace

bool reseal_file(std::span<std::byte> file, std::string& error) {
  if (bytecode::ByteReader in(file); file.size() < sizeof kImageMagic || in.u64() != kImageMagic)
    return bytecode::reseal(file, error);
  if (file.size() < kChecksummedFrom) {
    error = "the capsule file is too short for a checksum";
    return false;
  }
  try {
    std::string of_module;
    bytecode::reseal(module_in(file), of_module); // if it is none, the reader of the file will say so
  } catch (const bytecode::Malformed&) {
    // Its length leads outside: that too is the reader's to say.
  }
  bytecode::set_u64(file, kChecksumAt, image_checksum(file));
  return true;
}

} // namespace cairn::image
