// .bc files: modules as bytes. Little-endian, versioned, checksummed; the format is in docs/file-formats.md.
#pragma once

#include "vm/bytecode/module.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::bytecode {

inline constexpr std::uint32_t kModuleFormat = 3;
inline constexpr std::string_view kProducer = "cairn 0.1.0";

std::vector<std::byte> write_module(const Module& module);

// False with a message if the bytes are no well-formed module file of this version. Never reads outside, never allocates more
// than a small multiple of the input. A module read is not verified yet.
bool read_module(std::span<const std::byte> bytes, Module& module, std::string& error);

bool looks_like_module(std::span<const std::byte> bytes);

// Removes source text and locations. The names of files and procedures stay: messages still say where, if not on which line.
void strip(Module& module);

} // namespace cairn::bytecode
