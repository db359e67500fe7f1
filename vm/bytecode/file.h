// .bc files: modules as bytes. Little-endian, versioned, checksummed; the format is in docs/file-formats.md.
#pragma once

#include "vm/bytecode/module.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cairn::bytecode {

std::vector<std::byte> write_module(const Module& module);

// False with a message if the bytes are no well-formed module file of this version. Never reads outside, never allocates more than a
// small multiple of the input. A module read is not verified yet.
bool read_module(std::span<const std::byte> bytes, Module& module, std::string& error);

bool looks_like_module(std::span<const std::byte> bytes);

} // namespace cairn::bytecode
