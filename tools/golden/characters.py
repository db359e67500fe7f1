#!/usr/bin/env python3
"""Writes vm/text/character_classes.h from what Python knows of Unicode: which characters are letters (L), and which are numbers (N).

Debian 12's Python 3.11 knows Unicode 14.
"""
import pathlib
import sys
import unicodedata

TARGET = pathlib.Path(__file__).resolve().parent.parent.parent / "vm" / "text" / "character_classes.h"
HEAD = f"""// Letters and numbers of Unicode {unicodedata.unidata_version}, written by tools/golden/characters.py. Tokenizers split texts at the borders
// of their classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace cairn::text {{

// Where a class begins and ends in turn: characters below the first number are not in it, those from there to the second are.
// clang-format off
"""
TAIL = """// clang-format on

template <std::size_t N> constexpr bool is_within(const std::uint32_t (&borders)[N], std::uint32_t c) {
  return (std::upper_bound(std::begin(borders), std::end(borders), c) - std::begin(borders)) % 2 == 1;
}
constexpr bool is_letter(std::uint32_t c) { return is_within(kLetterBorders, c); }
constexpr bool is_number(std::uint32_t c) { return is_within(kNumberBorders, c); }

} // namespace cairn::text
"""


def borders(category):
    inside, found = False, []
    for c in range(sys.maxunicode + 2):
        now = c <= sys.maxunicode and unicodedata.category(chr(c))[0] == category
        if now != inside:
            found.append(c)
            inside = now
    return found


def table(name, numbers):
    lines, line = [], " "
    for number in numbers:
        text = f" {number:#x},"
        if len(line) + len(text) > 130:
            lines.append(line)
            line = " "
        line += text
    return "\n".join([f"inline constexpr std::uint32_t {name}[] = {{", *lines, line.rstrip(","), "};"]) + "\n"


TARGET.write_text(HEAD + table("kLetterBorders", borders("L")) + table("kNumberBorders", borders("N")) + TAIL)
