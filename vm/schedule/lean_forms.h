// The forms that a planner may give to tapes. Private to this room.
#pragma once

#include "vm/schedule/profile.h"

#include <vector>

namespace cairn::schedule {

// The run with tapes as lean as each of a ladder of prices has them, where that makes a difference. What sweeps compute again is
// a part of them.
std::vector<Profile> lean_forms(const Profile& profile);

} // namespace cairn::schedule
