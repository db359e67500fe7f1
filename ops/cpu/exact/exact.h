// Exact encodings of any bytes that are elements of tensors, for what goes to a file. They are a function of the bytes alone,
// whatever the processor. What is made of floating-point numbers has exponents that resemble each other, fractions that do not,
// and zeros; so the bytes of a block are sorted by their place in the element, zeros are a bit each, and where some bytes are
// more frequent than others that is made use of (streams.h). What is left as it is costs little more than to be copied.
//
//   piece  lengths of its blocks, u32 each | blocks
//   block  the bytes themselves, where they are as long as that; else u8 form | stream of the mask | a stream for each byte of an
//          element | what is behind the last whole element
//   form   0 to 3: the width of elements is two to that | 4: there is a mask, a bit an element, set where that is not zero;
//          streams have the others only
//
// Blocks of a piece are read one by one, so that a part of it takes no longer than it has to.
#pragma once

#include "ops/cpu/exact/streams.h"

#include <cstddef>
#include <cstdint>

namespace cairn::ops::exact {

inline constexpr std::int64_t kBlock = std::int64_t{32} << 10;
inline constexpr std::int64_t kPiece = std::int64_t{1} << 20; // the largest one
inline constexpr unsigned kWidest = 8;
inline constexpr std::int64_t kSlack = 32; // of buffers, that loops may read or write behind what counts

// Memory that encoding and decoding take beside what is given to them.
struct Workspace {
  std::uint8_t planes[kBlock + kSlack]; // one behind the other
  std::uint8_t block[kBlock + kSlack];  // elements that are not zero, or a block of which a part is wanted
  std::uint8_t mask[kBlock / 16 + kSlack];
  Tables tables;
};

// Of at most kPiece bytes, into at most `most`, which may all be written to; 0: it would take more. The middle speaks for the
// rest: the width of elements is that which does best there, and where even that is too much, nothing else is tried.
std::int64_t encode(Workspace& work, const std::uint8_t* from, std::int64_t bytes, std::uint8_t* to, std::int64_t most);
// The first `wanted` bytes of a piece of so many, from any bytes; false: these are no such piece, and what is written is
// undefined.
bool decode(Workspace& work, const std::uint8_t* from, std::int64_t size, std::int64_t bytes, std::uint8_t* to,
            std::int64_t wanted);

} // namespace cairn::ops::exact
