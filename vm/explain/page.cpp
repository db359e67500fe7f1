// The page of --explain=FILE.html: each gradient that was kept with its words, its drawing and who held memory, and all calls by
// line.
#include "vm/explain/forms.h"
#include "vm/text/html.h"

#include <fmt/format.h>

namespace cairn::explain {

namespace {

std::string page_head() {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Gradients</title>\n<style>\n" +
         text::colours_style("body", "", "") + text::kBodyStyle + "</style>\n</head>\n<body>\n<h1>Gradients</h1>\n";
}

// It begins with what the page may be embedded in, so that nothing else of that is touched.
std::string section_style() {
  return "<style>\n" +
         text::colours_style(".gradients",
                             "--mark: #8a949e; --advance: #7b8794; --sweep: #d9631e; --kept: #9b6bc4; --memory: #2c9c84;",
                             "--mark: #8a949e; --advance: #97a3af; --sweep: #f08a4b; --kept: #b98ee0; --memory: #3fbfa3;") +
         text::drawing_style(".gradients") + R"(.gradients { color: var(--ink); }
.gradients h2 { margin: 2em 0 .3em; font-size: 1.15em; }
.gradients p { margin: .3em 0; }
.gradients svg { margin: .6em 0; }
.gradients table { border-collapse: collapse; margin: .6em 0; }
.gradients th, .gradients td { padding: .15em 1em .15em 0; text-align: left; font-variant-numeric: tabular-nums; }
.gradients .dot { fill: var(--ink); }
.gradients path, .gradients line { fill: none; }
.gradients .mark { stroke: var(--mark); stroke-dasharray: 2 3; }
.gradients .advance { stroke: var(--advance); stroke-width: 1.8; }
.gradients .tape { stroke: var(--blue); stroke-width: 3; }
.gradients .sweep { stroke: var(--sweep); stroke-width: 3; }
.gradients .thin { stroke-width: 1.2; }
.gradients .kept { stroke: var(--kept); stroke-width: 1; stroke-opacity: .7; }
.gradients .faint { stroke-opacity: .4; }
.gradients .memory { fill: var(--memory); fill-opacity: .35; stroke: var(--memory); }
.gradients .budget { stroke: var(--red); stroke-width: 1.5; }
.gradients .predicted { stroke: var(--pale); stroke-width: 1.5; stroke-dasharray: 6 4; }
</style>
)";
}

std::string part(const Gradient& g) {
  std::string out = fmt::format("<h2>Gradient {} at {}</h2>\n<p>{}</p>\n<p>Schedule {}.</p>\n", g.number,
                                text::escaped_for_html(g.place), text::escaped_for_html(in_short(g)),
                                text::escaped_for_html(g.explanation.empty() ? g.schedule : g.explanation));
  out += drawing(g);
  out += "<table>\n";
  for (const Row& row : rows(g)) out += "<tr><th>" + row.name + "</th><td>" + text::escaped_for_html(row.words) + "</td></tr>\n";
  return out + "</table>\n";
}

} // namespace

std::string section(const Recorder& recorder, const std::optional<Gradient>& unfinished) {
  std::string out = section_style();
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
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", text::escaped_for_html(place), grouped(c.number),
                           text::escaped_for_html(calls_text(c.all)));
    out += "</table>\n";
  }
  if (!recorder.tiled().empty()) out += "<h2>Images by tiles</h2>\n";
  for (const auto& [place, tiled] : recorder.tiled()) out += "<pre>" + text::escaped_for_html(in_full(tiled)) + "</pre>\n";
  return out + "</section>\n";
}

std::string page(const Recorder& recorder, const std::optional<Gradient>& unfinished) {
  return page_head() + section(recorder, unfinished) + "</body>\n</html>\n";
}

} // namespace cairn::explain
