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
h2 { margin: 2em 0 .3em; font-size: 1.15em; }
p { margin: .3em 0; }
svg { display: block; width: 100%; height: auto; margin: .6em 0; font: 12px system-ui, sans-serif; }
table { border-collapse: collapse; margin: .6em 0; }
th, td { padding: .15em 1em .15em 0; text-align: left; font-variant-numeric: tabular-nums; }
svg text { fill: #1c2126; }
svg .word { paint-order: stroke; stroke: #fff; stroke-width: 4px; stroke-linejoin: round; }
svg .dot { fill: #1c2126; }
svg .tick { fill: #5b6670; }
svg .end { text-anchor: end; }
svg .mid { text-anchor: middle; }
svg path, svg line { fill: none; }
svg .grid { stroke: #dfe4e8; }
svg .mark { stroke: #8a949e; stroke-dasharray: 2 3; }
svg .advance { stroke: #7b8794; stroke-width: 1.8; }
svg .tape { stroke: #1f6fc4; stroke-width: 3; }
svg .sweep { stroke: #d9631e; stroke-width: 3; }
svg .thin { stroke-width: 1.2; }
svg .kept { stroke: #9b6bc4; stroke-width: 1; stroke-opacity: .7; }
svg .faint { stroke-opacity: .4; }
svg .memory { fill: #2c9c84; fill-opacity: .35; stroke: #2c9c84; }
svg .budget { stroke: #c02f2f; stroke-width: 1.5; }
svg .predicted { stroke: #5b6670; stroke-width: 1.5; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) {
  body { background: #15181b; color: #e4e8ec; }
  svg text { fill: #e4e8ec; }
  svg .word { stroke: #15181b; }
  svg .dot { fill: #e4e8ec; }
  svg .tick { fill: #9aa5b0; }
  svg .grid { stroke: #2c3238; }
  svg .advance { stroke: #97a3af; }
  svg .tape { stroke: #5aa2f0; }
  svg .sweep { stroke: #f08a4b; }
  svg .kept { stroke: #b98ee0; }
  svg .memory { fill: #3fbfa3; stroke: #3fbfa3; }
  svg .budget { stroke: #f06464; }
  svg .predicted { stroke: #9aa5b0; }
}
</style>
</head>
<body>
)";

std::string section(const Gradient& g) {
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

std::string page(const Recorder& recorder, const std::optional<Gradient>& unfinished) {
  std::string out = kHead;
  out += "<h1>Gradients</h1>\n";
  std::uint64_t calls = 0;
  for (const auto& [place, c] : recorder.calls()) calls += c.number;
  const std::uint64_t drawn = recorder.kept().size();
  out += calls == 0 && !unfinished
             ? "<p>The program took no gradient by checkpoint-*j.</p>\n"
             : fmt::format("<p>{} outermost gradients by checkpoint-*j came to their end{}.</p>\n", grouped(calls),
                           drawn == calls ? ""
                                          : fmt::format("; {} are drawn: the first {} of each line, {} in all at most", drawn,
                                                        Recorder::kFullCalls, Recorder::kMostKept));
  for (const Gradient& g : recorder.kept()) out += section(g);
  if (unfinished) out += section(*unfinished);
  if (calls > drawn) {
    out += "<h2>All calls</h2>\n<table>\n<tr><th>line</th><th>calls</th><th>each</th></tr>\n";
    for (const auto& [place, c] : recorder.calls())
      if (c.number != 0)
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", for_html(place), grouped(c.number),
                           for_html(calls_text(c.all)));
    out += "</table>\n";
  }
  return out + "</body>\n</html>\n";
}

} // namespace cairn::report
