// A map of stretches of memory that never overlap, cut wherever a use begins or ends.
#include "ops/emulated/race_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cairn::ops {

void Faults::note(std::string text, Kind kind) noexcept {
  const std::lock_guard lock(mutex_);
  if (count_.fetch_add(1) != 0) return;
  first_ = std::move(text);
  kind_ = kind;
}

void Faults::note(std::string text) { note(std::move(text), Kind::fault); }
void Faults::note_memory(std::string text) { note(std::move(text), Kind::memory); }
void Faults::note_refusal() noexcept { note({}, Kind::refusal); }

void Faults::raise() {
  if (count_.load() == 0) return;
  std::string text;
  Kind kind = Kind::fault;
  {
    const std::lock_guard lock(mutex_);
    kind = kind_;
    const std::uint64_t others = count_.exchange(0) - 1;
    text = std::exchange(first_, {});
    if (others != 0) text += fmt::format(" ({} more)", others);
  }
  if (kind == Kind::refusal) throw std::bad_alloc();
  if (kind == Kind::memory) throw DeviceMemoryExceeded(text);
  throw std::runtime_error(text);
}

// The first stretch that ends behind `at`, which begins there or later.
RaceChecker::Position RaceChecker::split(std::uintptr_t at) {
  Position position = memory_.lower_bound(at);
  if (position == memory_.begin()) return position;
  const Position previous = std::prev(position);
  if (previous->second.end <= at) return position;
  position = memory_.emplace_hint(position, at, previous->second);
  previous->second.end = at;
  return position;
}

void RaceChecker::use(const Operation& operation, std::string_view name, const Block& block, std::uintptr_t begin,
                      std::uintptr_t end, bool write, std::vector<Need>& needs) {
  if (begin >= end) return;
  const NamedOperation self{name, operation.stream, operation.ticket};
  const std::uintptr_t block_begin = reinterpret_cast<std::uintptr_t>(block.data);
  const auto require = [&](const NamedOperation& before, bool wrote) {
    if (before.ticket == 0 || before.stream == self.stream) return; // work of one stream comes in order
    for (const Need& need : needs)
      if (need.before.stream == before.stream && need.before.ticket == before.ticket) return;
    needs.push_back(Need{before, wrote, before.ticket <= operation.known[index_of(before.stream)], block_begin,
                         block_begin + static_cast<std::uintptr_t>(block.bytes)});
  };
  Position position = split(begin);
  split(end);
  if (write) {
    while (position != memory_.end() && position->first < end) {
      require(position->second.writer, true);
      for (const NamedOperation& reader : position->second.readers) require(reader, false);
      position = memory_.erase(position);
    }
    memory_.emplace_hint(position, begin, Extent{end, self, {}});
    return;
  }
  for (std::uintptr_t at = begin; at < end;) {
    if (position == memory_.end() || position->first > at) { // nobody has used it yet
      const std::uintptr_t to = position == memory_.end() ? end : std::min(end, position->first);
      position = memory_.emplace_hint(position, at, Extent{to, {}, {}});
    }
    require(position->second.writer, true);
    position->second.readers[index_of(self.stream)] = self;
    at = position->second.end;
    ++position;
  }
}

std::string describe(const NamedOperation& later, const Need& need, bool done) {
  const auto named = [](const NamedOperation& w) {
    return fmt::format("{} (operation {} of stream {})", w.name, w.ticket, name_of(w.stream));
  };
  return fmt::format("race: {} {} {}, which {} the block of {} bytes at {:#x}", named(later),
                     done ? "did not wait for" : "began before the end of", named(need.before), need.wrote ? "writes" : "reads",
                     need.end - need.begin, need.begin);
}

} // namespace cairn::ops
