// Archives in the format ZIP, as far as NumPy's npz uses it: members that are stored or deflated, also beyond 4 GiB, none
// encrypted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::formats {

struct ZipMember {
  std::string name;
  std::uint64_t compressed = 0, size = 0; // bytes in the file, and of the content
  std::uint64_t header = 0;               // where its own header begins
  std::uint32_t checksum = 0;
  bool deflated = false;
};

// What an archive is read by: so many bytes of the file from there on, which it has.
using ReadAt = std::function<void(std::uint64_t from, std::span<char> to)>;

// The members in the order of the directory. `hold` is told of memory before it is taken. FormatError.
std::vector<ZipMember> zip_members(const ReadAt& read, std::uint64_t file_bytes, const std::function<void(std::uint64_t)>& hold);
// Where the bytes of a member begin; all of them are in the file. FormatError.
std::uint64_t zip_content(const ReadAt& read, std::uint64_t file_bytes, const ZipMember& member);

// What stands before the bytes of a member, and behind all members. Numbers have one length, so that the header can be written
// again when size and checksum are known.
std::string zip_header(const ZipMember& member);
std::string zip_directory(std::span<const ZipMember> members, std::uint64_t at);

} // namespace cairn::formats
