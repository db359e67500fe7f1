// What a planner may choose among, made of what single intervals allow.
#include "vm/schedule/lean_forms.h"

#include <utility>

namespace cairn::schedule {
namespace {

// Tapes of a plan are lean up to such a form where a byte costs less than such a part of running its interval again: a ladder of
// prices, at the top of which nothing is computed again that costs more than that. The first rung is there so that what costs
// little can go where what costs as much as the interval stays. In random runs, where all of it costs much alike, it makes no
// difference whether that is a quarter, half, an eighth or none.
struct Rung {
  std::size_t form;
  std::uint64_t part;
};
constexpr Rung kRungs[] = {{1, 4}, {1, 1}, {2, 1}, {3, 1}};

} // namespace

std::vector<Profile> lean_forms(const Profile& profile) {
  std::vector<Profile> forms;
  std::vector<std::uint32_t> before(profile.size(), 0);
  for (const Rung& rung : kRungs) {
    Profile form = profile;
    std::vector<std::uint32_t> now;
    for (std::size_t i = 0; i < form.size(); ++i) {
      for (std::uint32_t next = next_form(form, i, rung.form, rung.part); next != 0;
           next = next_form(form, i, rung.form, rung.part))
        form.intervals[i].form = next;
      form.intervals[i].sweep = bounded(form.intervals[i].sweep + form.intervals[i].again());
      now.push_back(form.intervals[i].form);
    }
    if (now != before) forms.push_back(std::move(form));
    before = std::move(now);
  }
  return forms;
}

} // namespace cairn::schedule
