// Explanations as JSON, written by hand as the counters of --stats are: numbers are exact, and nothing is looked up.
#include "vm/explain/forms.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

namespace cairn::explain {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const std::uint32_t c = text::next_code_point(text, at);
    if (c == text::kMalformed)
      out += "\\ufffd";
    else if (c == '"' || c == '\\')
      out += {'\\', static_cast<char>(c)};
    else if (c < 0x20)
      out += fmt::format("\\u{:04x}", c);
    else
      out.append(text, begin, at - begin);
  }
  return out + '"';
}

const char* name_of(Doing doing) {
  switch (doing) {
  case Doing::advance:
    return "advance";
  case Doing::tape:
    return "tape";
  case Doing::sweep:
    break;
  }
  return "sweep";
}

// The members of an object, in order.
class Members {
public:
  Members& raw(std::string_view key, const std::string& value) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "{" : ",", key, value);
    return *this;
  }
  Members& text(std::string_view key, const std::string& value) { return raw(key, quoted(value)); }
  template <class T> Members& number(std::string_view key, T value) { return raw(key, fmt::format("{}", value)); }
  Members& truth(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  std::string end() const { return text_ + '}'; }

private:
  std::string text_;
};

template <class T, class F> std::string list(const T& items, F&& text) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += text(item);
  }
  return out + ']';
}

// Foreseen and counted, under one name.
template <class T> std::string both(const std::optional<T>& predicted, const std::optional<T>& measured) {
  auto told = [](const std::optional<T>& value) { return value ? fmt::format("{}", *value) : "null"; };
  return Members().raw("predicted", told(predicted)).raw("measured", told(measured)).end();
}

std::string holders(const Holders& h) {
  return Members()
      .number("level", h.level)
      .number("objects", h.objects)
      .number("tapes", h.tapes)
      .number("capsules", h.capsules)
      .number("tensors", h.tensors)
      .number("scratch", h.scratch)
      .raw("makers", list(h.makers,
                          [](const Maker& m) {
                            return Members()
                                .text("device", m.device)
                                .text("maker", m.text)
                                .number("bytes", m.bytes)
                                .number("tensors", m.tensors)
                                .end();
                          }))
      .end();
}

std::string tier(const Tier& t) {
  return Members()
      .text("name", t.name)
      .raw("budget", t.budget == 0 ? "null" : fmt::to_string(t.budget))
      .number("held", t.held)
      .raw("peak", both(t.predicted, std::optional(t.peak)))
      .end();
}

std::string kept_on_tape(const KeptOnTape& kept) {
  return Members()
      .number("bytes", kept.bytes)
      .number("records", kept.records)
      .raw(
          "parts",
          list(
              kept.parts,
              [](const KeptBy& k) {
                Members part;
                part.text("operator", k.name).text("maker", k.maker).number("bytes", k.bytes).number("tensors", k.tensors);
                if (k.encoded != 0)
                  part.number("encoded", k.encoded).number("least_bound", k.least_bound).number("largest_bound", k.largest_bound);
                return part.end();
              }))
      .end();
}

std::string stretch(const Stretch& s) {
  Members m;
  m.text("doing", name_of(s.doing));
  m.raw("from", s.placed ? fmt::to_string(s.from) : "null").raw("to", s.placed ? fmt::to_string(s.to) : "null");
  m.number("steps", s.steps).number("begin", s.begin).number("end", s.end);
  m.number("peak", s.peak).number("level", s.level).number("tapes", s.tapes).number("states", s.states);
  return m.number("actions", s.actions).end();
}

std::string state(const KeptState& s) {
  return Members()
      .number("step", s.step)
      .number("begin", s.begin)
      .number("end", s.end)
      .number("bytes", s.bytes)
      .number("number", s.number)
      .end();
}

std::string other_budget(const OtherBudget& other) {
  return Members()
      .number("budget", other.budget)
      .raw("time_of_one_tape", fmt::format("{:.4f}", other.time))
      .truth("fits", other.fits)
      .end();
}

std::string interval(const schedule::KnownInterval& i) {
  return Members()
      .number("steps", i.steps)
      .number("cost", i.forward)
      .number("tape", i.tape)
      .number("lean_tape", i.lean)
      .number("cost_again", i.again)
      .number("made", i.made)
      .number("state", i.state)
      .number("sweeping", i.sweeping)
      .end();
}

std::string calls(const Calls& c) {
  auto range = [&](const Calls::Range& r) { return c.number == 0 ? "null" : fmt::format("[{},{}]", r.least, r.most); };
  return Members()
      .text("place", c.place)
      .number("calls", c.number)
      .raw("steps", range(c.all.steps))
      .raw("executed", range(c.all.executed))
      .number("peak", c.all.peak)
      .end();
}

} // namespace

std::string json(const Gradient& g) {
  const bool planned = g.predicted && g.predicted->peak;
  const bool parts = g.predicted && !planned && g.predicted->tapes != 0;
  auto if_told = [](bool told, auto value) { return told ? std::optional(value) : std::nullopt; };
  const Outcome none, &p = g.predicted ? *g.predicted : none, &m = g.measured;
  Members out;
  out.number("gradient", g.number).text("place", g.place).text("schedule", g.schedule);
  out.raw("explanation", g.explanation.empty() ? "null" : quoted(g.explanation));
  out.text("summary", in_short(g));
  out.raw("budget", g.budget == 0 ? "null" : fmt::to_string(g.budget)).truth("whole", g.whole).truth("complete", g.complete);
  out.number("steps", g.steps).number("executed", g.executed).number("advanced", g.advanced).number("taped", g.taped);
  out.number("taped_again", g.retaped).number("swept", g.swept).number("states_kept", g.states_kept);
  out.raw("replay", both(if_told(g.predicted.has_value(), p.replay), if_told(g.steps != 0, m.replay)));
  out.raw("peak", both(p.peak, m.peak));
  out.raw("tapes", both(if_told(parts, p.tapes), if_told(true, m.tapes)));
  out.raw("states_at_once", both(if_told(parts, p.states), if_told(true, m.states)));
  out.raw("state_bytes", both(if_told(parts, p.state_bytes), if_told(true, m.state_bytes)));
  out.raw("in_file", both(if_told(planned, p.in_file), if_told(true, m.in_file)));
  out.number("spilled_bytes", g.spilled).number("fetched_bytes", g.fetched).number("stored_bytes", g.stored);
  out.raw("seconds", both(p.seconds, m.seconds));
  out.raw("planning_seconds", fmt::format("{}", g.planning_seconds));
  out.raw("seconds_of_one_tape", g.time_beside_one_tape ? fmt::format("{}", g.seconds_of_one_tape) : "null");
  out.raw("time_of_one_tape", g.time_beside_one_tape ? fmt::format("{:.4f}", *g.time_beside_one_tape) : "null");
  out.raw("fresh_seconds", g.time_beside_one_tape ? fmt::format(R"({{"predicted":{},"of_one_tape":{}}})", g.fresh_seconds,
                                                                g.fresh_seconds_of_one_tape)
                                                  : "null");
  out.raw("other_budgets", list(g.others, other_budget));
  out.raw("profile", list(g.profile, interval));
  out.raw("at_peak", g.held.level == 0 ? "null" : holders(g.held));
  out.raw("memories", list(g.tiers.all, tier));
  out.raw("device_at_once", g.tiers.at_once == 0 ? "null" : fmt::to_string(g.tiers.at_once));
  out.raw("kept", kept_on_tape(g.kept));
  out.number("time", g.time).raw("first_run", g.first_run ? fmt::format("{}", *g.first_run) : "null");
  out.raw("timeline", list(g.timeline, stretch)).raw("states", list(g.states, state));
  return out.number("states_left_out", g.states_left_out).end();
}

std::string json(const Tiled& t) {
  const auto step = [](const TiledStep& s) {
    Members out;
    out.raw("operators", list(s.operators, quoted)).raw("tiles", list(s.tiles, [](std::int64_t n) { return fmt::to_string(n); }));
    if (s.tiles.empty()) out.number("bytes", s.bytes);
    if (s.tile_bytes != 0) out.number("tile_bytes", s.tile_bytes).number("work", s.work);
    return out.end();
  };
  return Members()
      .text("place", t.place)
      .raw("steps", list(t.steps, step))
      .number("work", t.work)
      .number("border_bytes", t.border_bytes)
      .truth("in_file", t.file_bytes > 0)
      .number("file_bytes", t.file_bytes)
      .end();
}

std::string json(const Recorder& recorder, const std::optional<Gradient>& unfinished) {
  std::string gradients = list(recorder.kept(), [](const Gradient& g) { return json(g); });
  if (unfinished) {
    gradients.pop_back();
    gradients += (gradients.size() > 1 ? "," : "") + json(*unfinished) + "]";
  }
  return Members()
             .number("format", kFormat)
             .raw("gradients", gradients)
             .raw("calls", list(recorder.calls(), [](const auto& entry) { return calls(entry.second); }))
             .raw("tiled", list(recorder.tiled(), [](const auto& entry) { return json(entry.second); }))
             .end() +
         "\n";
}

} // namespace cairn::explain
