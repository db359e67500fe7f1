// The page of --explain=FILE.html: each gradient that was kept with its words, its drawing and who held memory, and all calls by
// line.
#include "vm/report/report.h"

#include <fmt/format.h>

namespace cairn::report {

namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gradients</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; background: #fff; color: #1c2126; }
@media (prefers-color-scheme: dark) {
  body { background: #15181b; color: #e4e8ec; }
}
</style>
</head>
<body>
<h1>Gradients</h1>
)";

// It begins with what the page may be embedded in, so that nothing else of that is touched.
constexpr const char* kStyle = R"(<style>
.gradients { --paper: #fff; --ink: #1c2126; --pale: #5b6670; --grid: #dfe4e8; --mark: #8a949e; --advance: #7b8794; --tape: #1f6fc4;
  --sweep: #d9631e; --kept: #9b6bc4; --memory: #2c9c84; --budget: #c02f2f; color: var(--ink); }
@media (prefers-color-scheme: dark) {
  .gradients { --paper: #15181b; --ink: #e4e8ec; --pale: #9aa5b0; --grid: #2c3238; --mark: #8a949e; --advance: #97a3af; --tape: #5aa2f0;
    --sweep: #f08a4b; --kept: #b98ee0; --memory: #3fbfa3; --budget: #f06464; }
}
.gradients h2 { margin: 2em 0 .3em; font-size: 1.15em; }
.gradients p { margin: .3em 0; }
.gradients svg { display: block; width: 100%; height: auto; margin: .6em 0; font: 12px system-ui, sans-serif; }
.gradients table { border-collapse: collapse; margin: .6em 0; }
.gradients th, .gradients td { padding: .15em 1em .15em 0; text-align: left; font-variant-numeric: tabular-nums; }
.gradients text, .gradients .dot { fill: var(--ink); }
.gradients .word { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.gradients .tick { fill: var(--pale); }
.gradients .end { text-anchor: end; }
.gradients .mid { text-anchor: middle; }
.gradients path, .gradients line { fill: none; }
.gradients .grid { stroke: var(--grid); }
.gradients .mark { stroke: var(--mark); stroke-dasharray: 2 3; }
.gradients .advance { stroke: var(--advance); stroke-width: 1.8; }
.gradients .tape { stroke: var(--tape); stroke-width: 3; }
.gradients .sweep { stroke: var(--sweep); stroke-width: 3; }
.gradients .thin { stroke-width: 1.2; }
.gradients .kept { stroke: var(--kept); stroke-width: 1; stroke-opacity: .7; }
.gradients .faint { stroke-opacity: .4; }
.gradients .memory { fill: var(--memory); fill-opacity: .35; stroke: var(--memory); }
.gradients .budget { stroke: var(--budget); stroke-width: 1.5; }
.gradients .predicted { stroke: var(--pale); stroke-width: 1.5; stroke-dasharray: 6 4; }
</style>
)";

std::string part(const Gradient& g) {
  std::string out = fmt::format("<h2>Gradient {} at {}</h2>\n<p>{}</p>\n<p>Schedule {}.</p>\n", g.number, for_html(g.place),
                                for_html(in_short(g)), for_html(g.explanation.empty() ? g.schedule : g.explanation));
  out += drawing(g);
  out += "<table>\n";
  for (const Row& row : rows(g)) out += "<tr><th>" + row.name + "</th><td>" + for_html(row.words) + "</td></tr>\n";
  return out + "</table>\n";
}

} // namespace

std::string for_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string section(const Recorder& recorder, const std::optional<Gradient>& unfinished) {
  std::string out = kStyle;
  out += "<section class=\"gradients\">\n";
  std::uint64_t calls = 0;
  for (const auto& [place, c] : recorder.calls()) calls += c.number;
  const std::uint64_t drawn = recorder.kept().size();
  out += calls == 0 && !unfinished
             ? "<p>The program took no gradient by checkpoint-*j.</p>\n"
             : fmt::format("<p>{} outermost gradients by checkpoint-*j came to their end{}.</p>\n", grouped(calls),
                           drawn == calls ? ""
                                          : fmt::format("; {} are drawn: the first {} of each line, {} in all at most", drawn,
                                                        Recorder::kFullCalls, Recorder::kMostKept));
  for (const Gradient& g : recorder.kept()) out += part(g);
  if (unfinished) out += part(*unfinished);
  if (calls > drawn) {
    out += "<h2>All calls</h2>\n<table>\n<tr><th>line</th><th>calls</th><th>each</th></tr>\n";
    for (const auto& [place, c] : recorder.calls())
      if (c.number != 0)
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", for_html(place), grouped(c.number),
                           for_html(calls_text(c.all)));
    out += "</table>\n";
  }
  return out + "</section>\n";
}

std::string page(const Recorder& recorder, const std::optional<Gradient>& unfinished) {
  return kHead + section(recorder, unfinished) + "</body>\n</html>\n";
}

} // namespace cairn::report
