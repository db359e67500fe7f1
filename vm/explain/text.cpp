// Explanations as text for a terminal, and the numbers and sentences that pages have too.
#include "vm/explain/forms.h"

#include "vm/text/diagnostic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace cairn::explain {

namespace {

std::string states_text(std::uint64_t number) { return fmt::format("{} {}", grouped(number), number == 1 ? "state" : "states"); }

std::string range_text(const Calls::Range& range) {
  return range.least == range.most ? grouped(range.most) : grouped(range.least) + " to " + grouped(range.most);
}

std::string others_text(const Gradient& g) {
  std::string out;
  for (const OtherBudget& other : g.others) {
    out += fmt::format("{} within {} ", out.empty() ? ";" : ",", bytes_text(static_cast<std::int64_t>(other.budget)));
    out += other.fits ? fmt::format("it would be {:.2f}", other.time) : "these intervals have no plan";
  }
  return out;
}

// By a clock, and as modelled: in seconds, and beside what one tape of the whole run would take. A machine that is busy, or
// another than that of the table of costs, has its own ratio of the two, which would say nothing of the schedule.
std::string time_text(const Gradient& g) {
  const Outcome none, &p = g.predicted ? *g.predicted : none;
  std::string out =
      fmt::format("{} measured{}", seconds_text(g.measured.seconds.value_or(0)), g.whole ? "" : " of what was seen");
  if (p.seconds) out += fmt::format(", {} predicted", seconds_text(*p.seconds));
  if (!g.time_beside_one_tape) return out;
  out += fmt::format("{} {:.2f} of the {} that one tape of the whole run would take, as modelled",
                     p.seconds ? ":" : "; the plan alone takes", *g.time_beside_one_tape, seconds_text(g.seconds_of_one_tape));
  return out + others_text(g);
}

std::string_view setting_of(const Tier& tier) {
  return tier.name == "device" ? "memory=" : tier.name == "host" ? "host=" : "disk-size=";
}

std::int64_t signed_bytes(std::uint64_t bytes) { return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)); }

} // namespace

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string abbreviated(double number) {
  const char* const units[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < std::size(units); ++unit) number /= 1000;
  return fmt::format("{:.3g}{}", number, units[unit]);
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit) number /= 1024;
  return fmt::format("{:.{}f} {}", number, number < 100 ? 1 : 0, units[unit]);
}

std::string seconds_text(double seconds) {
  return seconds < 0.1 ? fmt::format("{:.3g} ms", 1000 * seconds) : fmt::format("{:.3g} s", seconds);
}

std::string size_in_kib(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = std::uint64_t{1} << 10;
  return fmt::format("{}KiB", (bytes + kKibi - 1) / kKibi);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  if (bytes < 10 * kMebi) return size_in_kib(bytes);
  return fmt::format("{}MiB", (bytes + kMebi - 1) / kMebi);
}

std::string in_short(const Gradient& g) {
  if (g.steps == 0) return fmt::format("The end of its run was not reached: {} steps were executed.", grouped(g.executed));
  std::string out;
  const std::uint64_t first = g.swept - std::min(g.swept, g.retaped); // reversed from tapes of the first run
  if (!g.whole) {
    out = "It was resumed from a saved state; what follows tells only what was seen since. ";
  } else if (g.complete && g.executed <= g.steps) {
    return fmt::format("All {} steps were reversed from the tape of the first run; nothing was run again.", grouped(g.steps));
  } else if (first == 0) {
    out = fmt::format("Of the run's {} steps none stayed on tape. ", grouped(g.steps));
  } else {
    out = fmt::format("Of the run's {} steps {:.1f} % were reversed from tapes of the first run. ", grouped(g.steps),
                      100.0 * static_cast<double>(first) / static_cast<double>(g.steps));
  }
  const std::uint64_t executed = g.executed - g.executed_before;
  out += fmt::format("{} kept, {} at once at most; from them {} steps were run again, {} of them on a tape.",
                     g.states_kept == 1 ? "One state was" : states_text(g.states_kept) + " were", grouped(g.measured.states),
                     grouped(executed - std::min(executed, g.steps)), grouped(g.retaped));
  if (g.executed_before != 0) out += fmt::format(" {} steps had been run before it began again.", grouped(g.executed_before));
  if (!g.complete) out += " It has not ended.";
  return out;
}

std::vector<Row> rows(const Gradient& g) {
  const bool planned = g.predicted && g.predicted->peak; // predicted as a whole, or one by one, or steps alone
  const bool parts = g.predicted && !planned && g.predicted->tapes != 0;
  const Outcome none, &p = g.predicted ? *g.predicted : none;
  std::vector<Row> rows;
  if (g.steps == 0)
    rows.push_back({"replay", fmt::format("not known: {} steps executed", grouped(g.executed))});
  else
    rows.push_back({"replay", fmt::format("{:.4f} measured{}: {} steps executed for {}", g.measured.replay,
                                          g.predicted ? fmt::format(", {:.4f} predicted", p.replay) : "", grouped(g.executed),
                                          grouped(g.steps))});
  rows.push_back({"memory", fmt::format("{} at the peak measured{}{}", bytes_text(g.measured.peak.value_or(0)),
                                        planned ? fmt::format(", {} predicted", bytes_text(*p.peak)) : "",
                                        g.budget == 0 ? "" : fmt::format("; the budget is {}", bytes_text(g.budget)))});
  if (g.spilled != 0 || p.in_file != 0)
    rows.push_back(
        {"file", fmt::format("{} at the peak measured{}; {} written{}, {} read", bytes_text(signed_bytes(g.measured.in_file)),
                             planned ? fmt::format(", {} predicted", bytes_text(signed_bytes(p.in_file))) : "",
                             bytes_text(signed_bytes(g.spilled)),
                             g.stored == g.spilled ? "" : fmt::format(" as {}", bytes_text(signed_bytes(g.stored))),
                             bytes_text(signed_bytes(g.fetched)))});
  rows.push_back({"time", time_text(g)});
  // What planned tapes and states hold by themselves would not add up: they share most of it.
  if (planned) {
    rows.push_back({"snapshots", fmt::format("{} at once", grouped(g.measured.states))});
  } else {
    rows.push_back({"tapes", fmt::format("{} at the peak measured{}{}", bytes_text(signed_bytes(g.measured.tapes)),
                                         parts ? fmt::format(", {} predicted", bytes_text(signed_bytes(p.tapes))) : "",
                                         g.held.tensors == 0 ? "" : "; tensors count as often as they are kept")});
    rows.push_back(
        {"snapshots",
         fmt::format("{} at once and {} measured{}", grouped(g.measured.states), bytes_text(signed_bytes(g.measured.state_bytes)),
                     parts ? fmt::format(", {} and {} predicted", grouped(p.states), bytes_text(signed_bytes(p.state_bytes)))
                           : "")});
  }
  const Holders& h = g.held;
  if (h.level != 0)
    rows.push_back({"at the peak", fmt::format("objects {}, tapes {}, capsules {}, tensors {}{}", bytes_text(h.objects),
                                               bytes_text(h.tapes), bytes_text(h.capsules), bytes_text(h.tensors),
                                               h.scratch == 0 ? "" : ", scratch " + bytes_text(h.scratch))});
  for (const Maker& m : h.makers)
    rows.push_back({"", fmt::format("{} in {} {} made by {}{}", bytes_text(m.bytes), grouped(m.tensors),
                                    m.tensors == 1 ? "tensor" : "tensors", text::shown_name(m.text),
                                    m.device == "cpu" ? "" : ", on " + m.device)});
  std::ranges::move(explain::rows(g.tiers), std::back_inserter(rows));
  return rows;
}

std::vector<Row> rows(const Tiers& tiers) {
  std::vector<Row> rows;
  for (const Tier& tier : tiers.all) {
    std::string words = fmt::format("{} at the peak measured", bytes_text(tier.peak));
    if (tier.predicted) words += fmt::format(", at most {} predicted", bytes_text(*tier.predicted));
    words += fmt::format("; {} held now", bytes_text(tier.held));
    if (tier.budget != 0) words += fmt::format("; the budget ({}) is {}", setting_of(tier), bytes_text(tier.budget));
    rows.push_back({tier.name, words});
  }
  if (tiers.at_once != 0)
    rows.push_back({"", fmt::format("{} had to be there at once: memory={} would have been enough, and less would not",
                                    bytes_text(tiers.at_once), size_in_kib(static_cast<std::uint64_t>(tiers.at_once)))});
  return rows;
}

std::string in_full(const Gradient& g) {
  std::string out = fmt::format("gradient {} at {}\n  schedule     {}\n  in short     {}\n", g.number, text::shown_name(g.place),
                                g.explanation, in_short(g));
  for (const Row& row : rows(g))
    out += row.name.empty() ? fmt::format("    {}\n", row.words) : fmt::format("  {:<11}  {}\n", row.name, row.words);
  return out;
}

namespace {
std::string bounds_text(const KeptBy& k) {
  const std::string least = fmt::format("{:.3g}", k.least_bound);
  return k.least_bound == k.largest_bound ? least : fmt::format("{} to {:.3g}", least, k.largest_bound);
}
} // namespace

std::string kept_text(const Gradient& g) {
  constexpr std::size_t kMostShown = 12;
  if (g.kept.bytes == 0) return "";
  std::string out = fmt::format("  kept         {} on the heaviest tape, {} of them its records\n", bytes_text(g.kept.bytes),
                                bytes_text(g.kept.records));
  for (const KeptBy& k : std::span(g.kept.parts).first(std::min(kMostShown, g.kept.parts.size()))) {
    out += fmt::format("    {} in {} {} made by {}, for {}", bytes_text(k.bytes), grouped(k.tensors),
                       k.tensors == 1 ? "tensor" : "tensors", text::shown_name(k.maker), k.name);
    if (k.encoded != 0)
      out += fmt::format(", encodings of {}, 1/{:.1f} of them, with errors of at most {}", bytes_text(k.encoded),
                         static_cast<double>(k.encoded) / static_cast<double>(k.bytes), bounds_text(k));
    out += '\n';
  }
  return out;
}

std::string in_full(const Tiled& t) {
  constexpr std::int64_t kLeastTold = std::int64_t{4} << 10; // around each norm there are many that make a number of a channel
  std::size_t small = 0;
  std::string out = fmt::format("tiled at {}\n", text::shown_name(t.place));
  std::vector<std::string> whole; // neighbours
  const auto end_of_whole = [&] {
    if (!whole.empty()) out += fmt::format("    as a whole: {}\n", fmt::join(std::exchange(whole, {}), ", "));
  };
  for (const TiledStep& step : t.steps) {
    if (step.tiles.empty()) {
      if (step.bytes < kLeastTold)
        ++small;
      else
        whole.push_back(step.operators.front());
      continue;
    }
    end_of_whole();
    const std::string names = step.operators.size() == 1 ? step.operators.front()
                                                         : fmt::format("{} to {} ({} operators)", step.operators.front(),
                                                                       step.operators.back(), step.operators.size());
    if (step.tile_bytes == 0)
      out += fmt::format("    {}: over {} parts of its operand\n", names, fmt::join(step.tiles, " x "));
    else
      out += fmt::format("    {}: {} tiles of {}, {:.2f} times its work without halos\n", names, fmt::join(step.tiles, " x "),
                         bytes_text(step.tile_bytes), step.work);
  }
  end_of_whole();
  if (small != 0)
    out += fmt::format("    as a whole, of less than {} each: {} operator{}\n", bytes_text(kLeastTold), small,
                       small == 1 ? "" : "s");
  const std::string all = bytes_text(t.border_bytes), there = bytes_text(t.file_bytes);
  out += fmt::format("  borders      {}", all);
  if (t.file_bytes > 0) out += fmt::format(", {}in the file of --spill", there == all ? "" : there + " of them ");
  return out + fmt::format("\n  work         {:.2f} times that without halos\n", t.work);
}

std::string profile_text(const Gradient& g) {
  if (g.profile.empty()) return "  profile      none: a run that fits on its first tape, or is not planned, is not weighed\n";
  std::string out = fmt::format("  profile      {:>14} {:>10} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "from step", "steps",
                                "cost", "tape", "lean tape", "again", "state", "sweeping");
  std::uint64_t from = 0;
  for (const schedule::KnownInterval& i : g.profile) {
    auto bytes = [](std::uint64_t n) { return bytes_text(signed_bytes(n)); };
    out += fmt::format("               {:>14} {:>10} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}\n", grouped(from),
                       grouped(i.steps), abbreviated(static_cast<double>(i.forward)), bytes(i.tape), bytes(i.lean),
                       abbreviated(static_cast<double>(i.again)), bytes(i.state), bytes(i.sweeping));
    from += i.steps;
  }
  return out;
}

std::string calls_text(const Calls::Sums& s) {
  return fmt::format("{} steps, replay {}, {} at the peak", range_text(s.steps),
                     s.least_replay == s.most_replay ? fmt::format("{:.4f}", s.most_replay)
                                                     : fmt::format("{:.4f} to {:.4f}", s.least_replay, s.most_replay),
                     bytes_text(s.peak));
}

std::string in_a_line(const Calls& c) {
  const std::uint64_t first = c.told + 1;
  const std::string calls = first == c.number
                                ? fmt::format("gradient at {}, call {}", c.place, grouped(first))
                                : fmt::format("gradients at {}, calls {} to {}", c.place, grouped(first), grouped(c.number));
  return fmt::format("{}: {}\n", calls, calls_text(c.untold));
}

} // namespace cairn::explain
