// Pieces of TIFF that were decoded last: regions that are read one after the other share those at their borders. Nothing of it is
// state: what is found here is counted and charged for as if it were decoded now, and all may be given up whenever memory is
// short.
#pragma once

#include "vm/files/pages.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace cairn::machine {

class TiffPieces {
public:
  // Bytes that nobody has written yet: to fill them beforehand would be one step that cannot be stopped.
  class Elements {
  public:
    Elements(value::Heap& heap, std::size_t bytes)
        : memory_(heap, heap.scratch, static_cast<std::int64_t>(bytes)), size_(bytes),
          data_(std::make_unique_for_overwrite<std::byte[]>(bytes)) {}
    std::byte* data() { return data_.get(); }
    std::size_t size() const { return size_; }
    std::span<std::byte> span() { return {data_.get(), size_}; }

  private:
    value::Charged memory_;
    std::size_t size_;
    std::unique_ptr<std::byte[]> data_;
  };
  struct Name {
    bool operator==(const Name& o) const {
      return number == o.number && page == o.page && version == o.version && path == o.path;
    }
    std::string path; // in normal form
    files::Version version;
    std::uint64_t page;
    std::int64_t number;
  };

  // So many bytes at most, and a part of a budget; so many pieces, since they are looked for one after the other.
  static constexpr std::int64_t kMost = std::int64_t{64} << 20, kPartOfBudget = 16;
  static constexpr std::size_t kMostPieces = 512;

  explicit TiffPieces(value::Heap& heap) : heap_(heap) {}

  // Its elements, which are not here any more then.
  std::optional<Elements> take(const Name& name);
  void keep(Name name, Elements elements);
  // False: there was nothing.
  bool give_up() noexcept;

private:
  struct Piece {
    Name name;
    value::Charged memory; // of all but the elements
    Elements elements;
    std::int64_t bytes() const { return memory.bytes() + static_cast<std::int64_t>(elements.size()); }
  };
  value::Heap& heap_;
  std::list<Piece> pieces_; // the oldest first
  std::int64_t bytes_ = 0;
};

} // namespace cairn::machine
