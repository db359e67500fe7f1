// A call that a program asked to be recorded, or to be made along a plan (get-streaming-plan, call-with-streaming-plan). It is
// part of the state of the run that makes it, so that one which is interrupted and goes on, perhaps twice, records what it would
// have recorded.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/call_recorder.h"
#include "ops/plans/name_map.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cairn::ops::streaming {

struct Call {
  static constexpr std::uint64_t kGone = UINT64_MAX; // a leaf that was dropped

  // The blocks that stream of what the call was given, by their numbers on the device (StreamingDevice::number_of), each once.
  std::vector<std::uint64_t> leaves;
  // One of the two.
  std::optional<plans::CallRecorder> recorder;
  std::shared_ptr<const plans::AccessPlan> plan;

  // A call may be made within others that are recorded: those record as well what it does. Here is who they are while it lasts,
  // the innermost first; it is no part of what goes on elsewhere.
  class Around {
  public:
    explicit Around(const std::shared_ptr<Call>& call) : call_(call) {
      for (std::uint64_t i = 0; i < call->leaves.size(); ++i)
        if (call->leaves[i] != kGone) leaves_.insert_or_assign(call->leaves[i], plans::leaf_name(i));
    }
    // Null: it is no more.
    std::shared_ptr<Call> call() const { return call_.lock(); }
    // What that call knows the block of that number by.
    plans::Name name_of(std::uint64_t number) const {
      const plans::Name* const leaf = leaves_.find(number);
      return leaf != nullptr ? *leaf : plans::born_name(number);
    }
    std::size_t leaves() const { return leaves_.size(); }

  private:
    std::weak_ptr<Call> call_;
    plans::NameMap<plans::Name> leaves_;
  };
  std::vector<Around> around;
  // A call records what those do that have at most so many others between it and them, so that a launch is never noted more
  // often.
  static constexpr std::size_t kMostWithin = 16;

  // Says who records beside this one. std::bad_alloc.
  void lies_in(std::span<const std::shared_ptr<Call>> recorded) {
    const auto is_that = [](const Around& one, const std::shared_ptr<Call>& call) { return one.call() == call; };
    if (std::ranges::equal(around, recorded, is_that)) return;
    around.clear();
    for (const std::shared_ptr<Call>& call : recorded) around.emplace_back(call);
  }
  // What records beside it, with what names blocks by their numbers there.
  template <class F> void for_each_around(F&& f) const {
    for (const Around& one : around)
      if (const std::shared_ptr<Call> call = one.call(); call != nullptr && call->recorder) f(*call->recorder, one);
  }

  std::size_t leaves_around() const {
    std::size_t leaves = 0;
    for (const Around& one : around) leaves += one.leaves();
    return leaves;
  }

  // How far its recorder and those around it have come; what was recorded since can be taken back, for work that has not
  // happened.
  struct Mark {
    plans::CallRecorder::Mark own;
    std::vector<plans::CallRecorder::Mark> around;
  };
  Mark mark() const {
    Mark mark;
    if (recorder) mark.own = recorder->mark();
    for (const Around& one : around) {
      const std::shared_ptr<Call> call = one.call();
      mark.around.push_back(call != nullptr && call->recorder ? call->recorder->mark() : plans::CallRecorder::Mark{});
    }
    return mark;
  }
  void take_back(const Mark& mark) {
    if (recorder) recorder->take_back(mark.own);
    for (std::size_t i = 0; i < std::min(around.size(), mark.around.size()); ++i)
      if (const std::shared_ptr<Call> call = around[i].call(); call != nullptr && call->recorder)
        call->recorder->take_back(mark.around[i]);
  }
};

} // namespace cairn::ops::streaming
