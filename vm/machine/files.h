// The files of a machine. What a program reads of one is no effect: a replay, or a run that is resumed, reads it again. So that
// it reads the same, the machine remembers the size and the checksums of what was read, block by block, and never forgets them
// while the program runs: a file that has changed is an error of the program.
#pragma once

#include "ops/meter.h"
#include "vm/files/grants.h"
#include "vm/files/pages.h"
#include "vm/files/part_file.h"
#include "vm/files/replacing.h"
#include "vm/files/reserved.h"
#include "vm/value/charged.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cairn::machine {

class Files {
public:
  // Checksums are of pages, so that a row of a large file costs little more than itself; kept for so many pages together, a
  // block.
  static constexpr std::uint64_t kPage = files::kPage, kPages = files::kPagesAtOnce, kBlock = kPage * kPages;

  // What a written file takes beside its content, of the limit of output and of work: about what its inode, its name in a folder
  // and the rest of its last block take of a disk. A program that writes files of nothing would else write them without end.
  static constexpr std::uint64_t kEntry = 4096;

  Files(value::Heap& heap, const ops::Meter& meter) : meter_(meter), seen_(heap), unfinished_(heap) {}
  ~Files() { drop_unfinished(); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  files::Grants grants;
  files::Reserved reserved; // which the host writes itself

  // A regular file that is open for reading. `who` is the procedure that complains: ProgramError.
  class Reading {
  public:
    std::uint64_t size() const { return size_; }
    const files::Version& version() const { return *version_; }
    // In normal form.
    const std::string& path() const { return path_; }
    // Exactly so many bytes, which the file has. May be stopped.
    void read(std::uint64_t from, std::span<std::byte> to) { walk_.read(*this, from, to); }
    // The same of bytes that are there already and belong to pages of those checksums, in the order in which PageWalk meets them:
    // all is asked and counted as if they were read now.
    void confirm(std::uint64_t from, std::span<std::byte> bytes, std::span<const std::uint64_t>& sums);
    // "WHO: FILE: message".
    [[noreturn]] void complain(const std::string& message) const;

    // --- as a source of PageWalk
    void goes_on() const { files_.meter_.poll(); }
    void pages(std::uint64_t first, std::span<std::byte> to);
    void hold(std::uint64_t page, std::size_t size, std::size_t more);
    void part(std::span<std::byte> to, std::size_t from) const;

  private:
    friend class Files;
    struct Confirming;
    Reading(Files& files, std::string_view who, std::string_view path, bool replayed);
    void take(std::uint64_t from, std::byte* to, std::size_t size) const;
    // Of so many pages: `sum` gives the checksum of each, in order.
    template <class Sum> void check(std::uint64_t page, std::uint64_t count, Sum&& sum);
    void check(std::uint64_t page, std::span<const std::byte> bytes);
    [[noreturn]] void changed() const;
    Files& files_;
    std::string who_, path_;
    files::Opened opened_;
    std::optional<files::Version> version_;
    std::uint64_t size_ = 0;
    files::PageWalk walk_{0};
    std::array<std::byte, kPage> page_; // that the walk holds
  };
  // `replayed`: what reads may do so again, and must have the same.
  Reading open(std::string_view who, std::string_view path, bool replayed) { return {*this, who, path, replayed}; }
  // A folder, to be listed; `path` becomes its normal form. ProgramError.
  files::Opened open_folder(std::string_view who, std::string& path);
  // Remembers what was found in it, by a path in normal form, as it does with files. ProgramError: it was something else before.
  void confirm_listing(std::string_view who, std::string_view path, std::span<const std::byte> listing, bool replayed);
  // Replaces a file, or makes one: after a failure the old one is there. ProgramError.
  void replace(std::string_view who, std::string_view path, const files::Content& content);

  // A file that the program writes part by part. Its number, which no other one has, is the program's to keep: beside the
  // target's path and its size that is all it takes to go on with it, now or from a saved state. A file that is gone, as where
  // the state went elsewhere, is false, and whoever writes it begins again.
  struct Parts {
    std::string_view who, path;
    std::uint64_t bytes; // of the whole file
  };
  // The file with what it begins with; its number. ProgramError.
  std::uint64_t begin_parts(const Parts& parts, std::span<const std::byte> head);
  bool put_part(const Parts& parts, std::uint64_t number, const files::Content& content);
  // It gets its name: what had it before is there until then.
  bool finish_parts(const Parts& parts, std::uint64_t number);
  // A state is saved that may go on with those that are not finished: they stay when the program ends without finishing them, and
  // so does what is in them when the system crashes.
  void keep_unfinished() const;

  // What is known of the files that were read and the folders that were listed, by path in normal form.
  using Text = std::basic_string<char, std::char_traits<char>, value::ChargedAllocator<char>>;
  template <class K, class V, class Less = std::less<>>
  using Map = std::map<K, V, Less, value::ChargedAllocator<std::pair<const K, V>>>;
  // Did the program write it after it had read it? `since`: and has not read it since.
  enum class Written : std::uint8_t { no, before, since };
  struct Sums {
    std::uint16_t known = 0; // pages, as bits
    std::array<std::uint64_t, kPages> sums{};
  };
  struct Seen {
    Seen(value::Heap& heap, std::uint64_t bytes) : size(bytes), blocks(heap) {}
    std::uint64_t size;
    Written written = Written::no;
    Map<std::uint64_t, Sums> blocks; // by number
  };
  struct ByText {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a < b; }
  };
  using Table = Map<Text, Seen, ByText>;
  const Table& seen() const { return seen_; }
  // The entry of a path in normal form; a new one is given that size.
  Seen& entry(std::string_view path, std::uint64_t size);
  // The program is over.
  void forget() {
    seen_.clear();
    drop_unfinished();
  }

private:
  // The entry of what has that size now, whether it was read before or not.
  Seen& looked_at(std::string_view who, std::string_view path, std::uint64_t size, bool replayed);
  void written(std::string_view path);
  // Where a file is written: its folder, its name there, and the permissions of the file that has it, -1 without one.
  // ProgramError.
  struct Target {
    std::string path; // in normal form
    files::Opened folder;
    std::string name;
    int mode = -1;
    int number() const { return folder.descriptor->number(); }
  };
  Target target(std::string_view who, std::string_view path) const;
  // The file of that target has a new content.
  void replaced(std::string_view who, const Target& target);
  bool is_there(const Parts& parts, const Target& target, std::uint64_t number, files::Part part);
  void drop_unfinished();
  const ops::Meter& meter_;
  Table seen_;
  struct Unfinished {
    Unfinished(Text target, std::uint64_t size) : path(std::move(target)), bytes(size) {}
    Text path; // of the target, in normal form
    std::uint64_t bytes;
    mutable bool kept = false;
  };
  Map<std::uint64_t, Unfinished> unfinished_; // by number
};

} // namespace cairn::machine
