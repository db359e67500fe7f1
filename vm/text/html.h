// What the pages of --explain and of --report have in common: how text stands in HTML, the colours for light and dark screens,
// and how drawings look.
#pragma once

#include "vm/text/utf8.h"

#include <string>
#include <string_view>

namespace cairn::text {

// Bytes that are no text, as names of files may have them, are U+FFFD.
inline std::string escaped_for_html(std::string_view text) {
  std::string out;
  for (const char c : repaired(text)) {
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

inline constexpr const char* kBodyStyle =
    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; background: var(--paper); "
    "color: var(--ink); }\n";

// Variables of the elements that a selector names. `light` and `dark` are more of them.
inline std::string colours_style(const std::string& selector, const std::string& light, const std::string& dark) {
  return selector + " { --paper: #fff; --ink: #1c2126; --pale: #5b6670; --grid: #dfe4e8; --blue: #1f6fc4; --red: #c02f2f;\n  " +
         light + " }\n@media (prefers-color-scheme: dark) {\n  " + selector +
         " { --paper: #15181b; --ink: #e4e8ec; --pale: #9aa5b0; --grid: #2c3238; --blue: #5aa2f0; --red: #f06464;\n    " + dark +
         " }\n}\n";
}

// Of drawings inside of the elements that a selector names: text, ticks at axes, words that stand before lines, the grid.
inline std::string drawing_style(const std::string& selector) {
  std::string out;
  for (const char* rule :
       {"svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }", "text { fill: var(--ink); }",
        ".tick { fill: var(--pale); }", ".end { text-anchor: end; }", ".mid { text-anchor: middle; }",
        ".word { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }",
        ".grid { stroke: var(--grid); }"})
    out += selector + " " + rule + "\n";
  return out;
}

} // namespace cairn::text
