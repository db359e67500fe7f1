// See repeats.h.
#include "vm/schedule/repeats.h"

#include <algorithm>
#include <utility>

namespace cairn::schedule {

namespace {

std::unique_ptr<Schedule> schedule_of(const std::vector<std::uint64_t>& known) {
  const std::optional<std::vector<std::uint64_t>> words = unpacked(known);
  return words ? schedule::restore(*words) : nullptr;
}

} // namespace

std::unique_ptr<Schedule> Repeats::next(std::uint64_t kind) const {
  const auto call = std::ranges::find(calls_, kind, &Call::kind);
  return call == calls_.end() || call->waits != 0 || call->known.empty() ? nullptr : schedule_of(call->known);
}

void Repeats::learn(std::uint64_t kind, const Schedule& schedule, std::uint64_t steps, std::size_t most_words) {
  calls_.reserve(kMost + 1); // so that nothing fails once something has changed
  Call now;
  const auto before = std::ranges::find(calls_, kind, &Call::kind);
  if (before != calls_.end()) now.misled = before->misled;
  if (const std::unique_ptr<Schedule> again = schedule.again(now.misled); again != nullptr) {
    std::vector<std::uint64_t> words;
    again->save(words);
    now.known = packed(words);
  }
  if (now.known.size() > most_words) now.known.clear();
  now.kind = kind;
  now.steps = steps;
  if (before != calls_.end() && before->waits != 0)
    now.waits = before->steps == steps ? before->waits - 1 : std::uint64_t{1} << now.misled;
  if (before != calls_.end())
    calls_.erase(before);
  else if (now.known.empty())
    return;
  calls_.push_back(std::move(now));
  while (calls_.size() > kMost || words() > most_words) calls_.erase(calls_.begin());
}

void Repeats::misled(std::uint64_t kind) {
  const auto call = std::ranges::find(calls_, kind, &Call::kind);
  if (call == calls_.end()) return;
  call->misled = std::min(call->misled + 1, kMostMisled);
  call->waits = std::uint64_t{1} << call->misled;
}

std::size_t Repeats::words() const {
  std::size_t words = 0;
  each_word([&](std::uint64_t) { ++words; });
  return words;
}

std::optional<Repeats> Repeats::restore(const std::vector<std::uint64_t>& words) {
  Repeats repeats;
  WordReader reader(words);
  reader(repeats.calls_);
  if (!reader.complete() || repeats.calls_.size() > kMost) return std::nullopt;
  for (auto call = repeats.calls_.begin(); call != repeats.calls_.end(); ++call) {
    if (call->misled > kMostMisled || call->waits > std::uint64_t{1} << kMostMisled) return std::nullopt;
    if (std::any_of(repeats.calls_.begin(), call, [&](const Call& other) { return other.kind == call->kind; }))
      return std::nullopt;
    if (!call->known.empty() && schedule_of(call->known) == nullptr) return std::nullopt;
  }
  return repeats;
}

} // namespace cairn::schedule
