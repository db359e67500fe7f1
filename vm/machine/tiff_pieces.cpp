// See tiff_pieces.h.
#include "vm/machine/tiff_pieces.h"

#include <algorithm>
#include <new>

namespace cairn::machine {

std::optional<TiffPieces::Elements> TiffPieces::take(const Name& name) {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) { return piece.name == name; });
  if (found == pieces_.end()) return std::nullopt;
  bytes_ -= found->bytes();
  Elements elements = std::move(found->elements);
  pieces_.erase(found);
  return elements;
}

void TiffPieces::keep(Name name, Elements elements) {
  const std::int64_t most = heap_.budget() == 0 ? kMost : std::min(kMost, heap_.budget() / kPartOfBudget);
  const auto beside = static_cast<std::int64_t>(sizeof(Piece) + name.path.size());
  const std::int64_t bytes = beside + static_cast<std::int64_t>(elements.size());
  if (bytes > most) return;
  for (; !pieces_.empty() && (bytes_ + bytes > most || pieces_.size() == kMostPieces); pieces_.pop_front())
    bytes_ -= pieces_.front().bytes();
  try {
    value::Charged memory(heap_, heap_.scratch, beside);
    pieces_.push_back({std::move(name), std::move(memory), std::move(elements)});
    bytes_ += bytes;
  } catch (const value::BudgetExceeded&) { // then it will be decoded again
  } catch (const std::bad_alloc&) {
  }
}

bool TiffPieces::give_up() noexcept {
  if (pieces_.empty()) return false;
  pieces_.clear();
  bytes_ = 0;
  return true;
}

} // namespace cairn::machine
