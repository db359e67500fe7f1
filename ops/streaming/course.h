// The call that a streaming device is in: it is recorded the first time, and its plan followed when it is made again.
#pragma once

#include "ops/plans/follower.h"
#include "ops/plans/simulator.h"
#include "ops/streaming/call.h"
#include "ops/streaming/device.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cairn::ops::streaming {

class Course {
public:
  explicit Course(Counts& counts) : counts_(counts) {}

  // The call before ends here, and its plan, if it was recorded, is kept. A plan that was not kept to is forgotten. `memory`: in
  // which plans are followed. `leaves_are_there`: in that memory; where it then has room for all that the plan knows of, there is
  // nothing to foresee, and the call is neither followed nor recorded.
  void begin(std::uint64_t code, std::span<const std::uint64_t> bytes_of_leaves, bool leaves_are_there,
             const plans::Memory& memory);
  // A call that the program asked for, which outlives its stay here; null: what follows belongs to no call. `follows`: its plan
  // is followed, if it has one.
  void enter(Call* call, bool follows, const plans::Memory& memory);
  // Of what was entered last nothing is looked at any more.
  void leave() noexcept { entered_ = nullptr; }
  // Whether anybody wants to know of launches, and how long they take.
  bool is_noted() const { return is_recorded() || follower_ != nullptr; }
  bool is_recorded() const { return recorder_.has_value() || recorder_of_program() != nullptr || is_recorded_around(); }
  // Whether calls record what is done here in which this one is made.
  bool is_recorded_around() const { return entered_ != nullptr && !entered_->around.empty(); }
  std::size_t leaves_around() const { return entered_ != nullptr ? entered_->leaves_around() : 0; }
  // Each of them, with what names blocks by their numbers there.
  template <class F> void for_each_around(F&& f) const {
    if (entered_ != nullptr) entered_->for_each_around(f);
  }
  // The next launch. True: what is known of next uses has changed.
  bool launch(plans::Picoseconds duration, std::span<plans::Access> accesses);
  void made(plans::Name name, std::int64_t bytes);
  // Where there is no memory to note it, the call is not recorded further.
  void dropped(plans::Name name) noexcept;
  // The call is known, and nothing has to move.
  bool has_room() const { return has_room_; }
  // Null: no plan is followed.
  const plans::Follower* follower() const { return follower_.get(); }
  const plans::Foresight* foresight() const { return follower_ == nullptr ? nullptr : foresight_.get(); }

private:
  // Longer calls are not recorded: what is remembered of them must stay small beside the machine.
  static constexpr std::size_t kMostLaunches = std::size_t{1} << 17;
  // One launch in so many may be another than the plan foretells before the call is recorded anew.
  static constexpr std::uint64_t kMostStrayed = 16;

  // The first call of a training may be another than those behind it, whose gradients are planned by what it was seen to take. So
  // what follows a plan is recorded as well until a plan was kept to from end to end, or this often.
  static constexpr int kMostRecordings = 4;

  // Plans of calls are kept as long as they take so much together: a program may differentiate as many procedures as it likes.
  static constexpr std::size_t kMostKept = std::size_t{32} << 20; // bytes

  struct Known {
    std::shared_ptr<const plans::AccessPlan> plan;
    std::uint64_t next = 0; // the call that came behind it
    // What the plan comes to if it is followed by itself, or by something else; made when it is wanted.
    std::shared_ptr<const plans::Foresight> again, once;
    int recordings = 0;
    std::uint64_t begun = 0; // by the number of the call, when it was made last
    bool crowded = false;    // something had to leave although all of the plan has room
  };
  void finish(std::uint64_t next);
  void keep(Known known);
  void forget(std::map<std::uint64_t, Known>::iterator known);
  void follow(Known& known, plans::Ending ending, const plans::Memory& memory);
  void take_up(const std::shared_ptr<const plans::AccessPlan>& plan);
  // Where what happens in a call that the program asked to be recorded is noted, or null.
  plans::CallRecorder* recorder_of_program() const {
    return entered_ != nullptr && entered_->recorder ? &*entered_->recorder : nullptr;
  }
  plans::Follower::Step follow(std::span<const plans::Access> accesses);

  Counts& counts_;
  std::map<std::uint64_t, Known> known_; // by code
  std::size_t kept_ = 0;                 // bytes of their plans
  std::uint64_t calls_ = 0;
  Call* entered_ = nullptr;
  std::vector<plans::Access> split_; // a launch as the plan of such a call has it
  // The plan of the program that was entered last, and what those before it come to: calls within each other are entered in turn.
  static constexpr std::size_t kRemembered = 8;
  Known by_program_;
  std::vector<std::pair<std::uint64_t, Known>> before_; // without their plans, by digest, the latest at the end
  std::uint64_t code_ = 0;
  bool begun_ = false, has_room_ = false;
  std::int64_t evicted_before_ = 0; // blocks, when a call with room for all began
  std::optional<plans::Recorder> recorder_;
  std::size_t recorded_ = 0;
  std::shared_ptr<const plans::AccessPlan> plan_; // of the follower
  std::shared_ptr<const plans::Foresight> foresight_;
  std::unique_ptr<plans::Follower> follower_;
};

} // namespace cairn::ops::streaming
