// See course.h.
#include "ops/streaming/course.h"

#include "ops/meter.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace cairn::ops::streaming {

void Course::finish(std::uint64_t next) {
  if (std::exchange(has_room_, false))
    if (const auto known = known_.find(code_); known != known_.end()) {
      known->second.next = next;
      known->second.crowded = counts_.evictions != evicted_before_;
    }
  const bool kept_to = follower_ != nullptr && follower_->divergences() == 0;
  if (follower_ != nullptr) {
    const auto known = known_.find(code_);
    if (known != known_.end()) {
      known->second.next = next;
      if (kept_to)
        known->second.recordings = kMostRecordings;
      else if (!recorder_ && follower_->strayed() > follower_->followed() / kMostStrayed)
        forget(known);
    }
    follower_.reset();
  }
  if (recorder_) {
    std::string fault;
    auto plan = kept_to ? std::nullopt : recorder_->finish(fault);
    if (plan && plan->size() != 0) {
      const auto known = known_.find(code_);
      const int recordings = known != known_.end() ? known->second.recordings + 1 : 1;
      keep({std::make_shared<plans::AccessPlan>(std::move(*plan)), next, nullptr, nullptr, recordings, calls_});
    }
    recorder_.reset();
  }
}

void Course::forget(std::map<std::uint64_t, Known>::iterator known) {
  kept_ -= known->second.plan->bytes_of_memory();
  known_.erase(known);
}

// Under the code of the call. What was called longest ago is forgotten for it, as far as that must be.
void Course::keep(Known known) {
  if (const auto before = known_.find(code_); before != known_.end()) forget(before);
  const std::size_t bytes = known.plan->bytes_of_memory();
  while (!known_.empty() && kept_ + bytes > kMostKept)
    forget(std::ranges::min_element(known_, {}, [](const auto& one) { return one.second.begun; }));
  known_.emplace(code_, std::move(known));
  kept_ += bytes;
}

void Course::begin(std::uint64_t code, std::span<const std::uint64_t> bytes_of_leaves, bool leaves_are_there,
                   const plans::Memory& memory) {
  if (begun_) finish(code);
  begun_ = true;
  code_ = code;
  ++calls_;
  const auto known = known_.find(code);
  if (known != known_.end()) known->second.begun = calls_;
  if (known != known_.end() && known->second.plan->why_not(code, bytes_of_leaves).empty()) {
    if (leaves_are_there && !known->second.crowded && known->second.plan->bytes_at_once() <= memory.capacity) {
      has_room_ = true;
      evicted_before_ = counts_.evictions;
      return;
    }
    // Where the same call came behind it, as a training's steps do, it will come again.
    follow(known->second, known->second.next == code ? plans::Ending::again : plans::Ending::once, memory);
    if (known->second.recordings == kMostRecordings) return;
  }
  recorder_.emplace(code);
  recorded_ = 0;
}

void Course::follow(Known& known, plans::Ending ending, const plans::Memory& memory) {
  plan_ = known.plan;
  auto& foresight = ending == plans::Ending::again ? known.again : known.once;
  if (foresight == nullptr)
    foresight = std::make_shared<plans::Foresight>(plans::foresee(*plan_, memory, ending, Meter::poll_current));
  foresight_ = foresight;
  follower_ = std::make_unique<plans::Follower>(*plan_, ending);
}

void Course::enter(Call* call, bool follows, const plans::Memory& memory) {
  if (begun_) finish(0);
  begun_ = false;
  follower_.reset();
  entered_ = call;
  if (!follows || call == nullptr || call->plan == nullptr || call->plan->size() == 0) return;
  const bool again = by_program_.plan != nullptr && by_program_.plan->digest() == call->plan->digest();
  if (!again) take_up(call->plan);
  // Programs may make plans as they like, one after the other.
  if ((again ? by_program_.again : by_program_.once) == nullptr) Meter::spend_current(work_to_foresee(*call->plan));
  follow(by_program_, again ? plans::Ending::again : plans::Ending::once, memory);
}

void Course::take_up(const std::shared_ptr<const plans::AccessPlan>& plan) {
  if (by_program_.plan != nullptr) {
    if (before_.size() == kRemembered) before_.erase(before_.begin());
    before_.emplace_back(by_program_.plan->digest(), Known{nullptr, 0, by_program_.again, by_program_.once});
  }
  by_program_ = {plan, 0, nullptr, nullptr};
  const auto known = std::ranges::find(before_, plan->digest(), &std::pair<std::uint64_t, Known>::first);
  if (known == before_.end()) return;
  // Somebody may have made another plan of the same digest.
  const auto fits = [&](const auto& foresight) {
    return foresight != nullptr && (foresight->copied_out.empty() || foresight->copied_out.size() == plan->parts().uses.size());
  };
  if (fits(known->second.again)) by_program_.again = known->second.again;
  if (fits(known->second.once)) by_program_.once = known->second.once;
  before_.erase(known);
}

// Plans of calls that the program asked for have a block that is overwritten as two.
plans::Follower::Step Course::follow(std::span<const plans::Access> accesses) {
  constexpr std::uint64_t kProvisional = ~plans::kBorn >> 1; // numbers that no block has
  split_.assign(accesses.begin(), accesses.end());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].use != plans::Use::overwrite) continue;
    split_[i].use = plans::Use::read;
    split_.push_back({plans::born_name(kProvisional + i), accesses[i].bytes, plans::Use::write_whole});
  }
  const plans::Follower::Step step = follower_->launch(split_);
  if (split_.size() != accesses.size())
    for (std::size_t i = 0; i < accesses.size(); ++i)
      if (accesses[i].use == plans::Use::overwrite) follower_->renamed(plans::born_name(kProvisional + i), accesses[i].name);
  return step;
}

bool Course::launch(plans::Picoseconds duration, std::span<plans::Access> accesses) {
  if (plans::CallRecorder* const recorder = recorder_of_program()) {
    recorder->launch(duration, accesses);
    return false;
  }
  if (entered_ == nullptr)
    for (plans::Access& access : accesses) access.use = plans::planned(access.use);
  if (recorder_) {
    if (++recorded_ <= kMostLaunches)
      recorder_->launch(duration, accesses);
    else
      recorder_.reset();
  }
  if (follower_ == nullptr) return false;
  using Step = plans::Follower::Step;
  const Step step = entered_ != nullptr ? follow(accesses) : follower_->launch(accesses);
  if (step == Step::diverges) ++counts_.divergences;
  ++(step == Step::follows || step == Step::returns ? counts_.followed : counts_.strayed);
  return step == Step::diverges || step == Step::returns;
}

void Course::made(plans::Name name, std::int64_t bytes) {
  if (plans::CallRecorder* const recorder = recorder_of_program()) recorder->made(name, static_cast<std::uint64_t>(bytes));
  if (recorder_) recorder_->made(name, static_cast<std::uint64_t>(bytes));
}

void Course::dropped(plans::Name name) noexcept {
  if (follower_ != nullptr) follower_->dropped(name);
  if (plans::CallRecorder* const recorder = recorder_of_program()) recorder->dropped(name);
  if (!recorder_) return;
  try {
    recorder_->dropped(name);
  } catch (const std::bad_alloc&) {
    recorder_.reset();
  }
}

} // namespace cairn::ops::streaming
