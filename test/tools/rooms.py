#!/usr/bin/env python3
"""Rooms know each other as the table of docs/design.md says: every include of a source leads along an arrow of that table, every arrow is
one that some source needs, and neither rooms nor headers nor the libraries of the build go round in a circle. The files of the language's
library, which are one program, define no name twice: the second definition would hide the first.

    rooms.py --root SOURCE-FOLDER
"""
import argparse
import glob
import os
import re
import tempfile
import unittest

FOLDERS = ("vm", "ops", "gpu", "compiler", "tools", "samples")
ENDINGS = (".h", ".def", ".cuh", ".c", ".cpp", ".cu", ".in")
SEARCHED = ("", "vm/api", "compiler/api", "tools")  # where the build looks for what is included, beside the includer's own folder


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def table_of(page):
    """Rooms of the page, and what each may include: rooms, or single files of them."""
    section = re.search(r"^## 2\. .*?(?=^## )", page, re.DOTALL | re.MULTILINE).group(0)
    table = {}
    for names, arrows in re.findall(r"^\| (`[^|]+)\|[^|]*\|([^|]*)\|$", section, re.MULTILINE):
        rooms, targets = (re.findall(r"`([^`]+)`", cell) for cell in (names, arrows))
        table |= {room: targets for room in rooms}
    return table


def includes_of(root):
    """(file, line, included file) for everything that is included by its place in the tree; None for what is not there."""
    paths = sorted(os.path.relpath(path, root) for folder in FOLDERS for path in glob.glob(os.path.join(root, folder, "**", "*"), recursive=True)
                   if path.endswith(ENDINGS))
    known, found = set(paths), []
    for path in paths:
        for number, line in enumerate(read(root, path).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match:
                places = [os.path.normpath(os.path.join(place, match.group(1))) for place in (os.path.dirname(path), *SEARCHED)]
                found.append((path, number, next((place for place in places if place in known), None)))
    return paths, found


def room_of(path, table):
    """The innermost room of the table that a file stands in."""
    return max((room for room in table if path.startswith(room + "/")), key=len, default=None)


def circle_in(arrows):
    """A circle of {from: {to, ...}} as a list whose last is its first, or none."""
    done = set()
    for start in sorted(arrows):
        way, open_ways = [start], [iter(sorted(arrows[start]))]
        while way and start not in done:
            following = next(open_ways[-1], None)
            if following is None:
                done.add(way.pop())
                open_ways.pop()
            elif following in way:
                return way[way.index(following):] + [following]
            elif following not in done:
                way.append(following)
                open_ways.append(iter(sorted(arrows.get(following, ()))))
    return None


def libraries_of(build):
    """{library: libraries it is linked to} of the rooms, as CMakeLists.txt says, and the folder of each."""
    folders = dict(re.findall(r"^cairn_room\((\w+) ([\w/]+)", build, re.MULTILINE))
    links = {name: set(linked.split()) & set(folders) for name, linked in re.findall(r"^cairn_room\((\w+) [\w/]+ ?([^)]*)\)", build, re.MULTILINE)}
    for name, linked in re.findall(r"target_link_libraries\((\w+) ([^)]*)\)", build):
        if name in links:
            links[name] |= set(linked.split()) & set(folders)
    return links, folders


def reached(start, arrows):
    """All that arrows lead to from there."""
    found, left = set(), [start]
    while left:
        for following in arrows.get(left.pop(), ()):
            if following not in found:
                found.add(following)
                left.append(following)
    return found


def complaints(root):
    """What is wrong, a line each."""
    table = table_of(read(root, "docs/design.md"))
    paths, includes = includes_of(root)
    wrong = [f"{path}: stands in no room of docs/design.md" for path in paths if room_of(path, table) is None]
    needed, between, among = set(), {room: set() for room in table}, {}
    for path, number, target in includes:
        if target is None:
            wrong.append(f"{path}:{number}: includes what is not there")
            continue
        among.setdefault(path, set()).add(target)
        here, there = room_of(path, table), room_of(target, table)
        if here is None or there is None or here == there:
            continue
        between[here].add(there)
        allowed = next((arrow for arrow in table[here] if arrow in (target, there)), None)
        if allowed is None:
            wrong.append(f"{path}:{number}: {here} -> {there} ({target}) is no arrow of docs/design.md")
        needed.add((here, allowed))
    for room, arrows in table.items():
        row = [other for other in table if table[other] is arrows]
        wrong += [f"docs/design.md: {room} -> {arrow}: no source needs this arrow" for arrow in arrows
                  if room == row[0] and not any((other, arrow) in needed for other in row)]
    for what, arrows in (("rooms", between), ("files", among)):
        circle = circle_in(arrows)
        if circle:
            wrong.append(f"{what} in a circle: " + " -> ".join(circle))
    links, folders = libraries_of(read(root, "CMakeLists.txt"))
    circle = circle_in(links)
    if circle:
        wrong.append("libraries in a circle: " + " -> ".join(circle))
    for library in sorted(links):
        for linked in sorted(links[library]):
            if folders[linked] not in reached(folders[library], between):
                wrong.append(f"CMakeLists.txt: {library} -> {linked}: {folders[library]} does not know {folders[linked]}")
    return wrong


def defined_twice(texts):
    names = [name for text in texts for name in re.findall(r"^\(define \(?([^\s()]+)", text, re.MULTILINE)]
    return sorted({name for name in names if names.count(name) > 1})


class Rooms(unittest.TestCase):
    root = None

    def test_the_rooms_are_as_the_page_says(self):
        self.assertGreaterEqual(len(table_of(read(self.root, "docs/design.md"))), 20)
        self.assertGreaterEqual(len(includes_of(self.root)[1]), 800)
        links, _ = libraries_of(read(self.root, "CMakeLists.txt"))
        self.assertGreaterEqual(sum(map(len, links.values())), 15)
        self.assertEqual(complaints(self.root), [])

    def made_up(self, files, table="| `vm/low` | | |\n| `vm/high` | | `vm/low` |\n", build=""):
        """What is wrong with a tree of these files."""
        with tempfile.TemporaryDirectory() as root:
            page = f"## 2. Rooms\n\n{table}\n## 3. More\n"
            for path, text in {"docs/design.md": page, "CMakeLists.txt": build, **files}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return complaints(root)

    def test_no_name_of_the_library_hides_another(self):
        files = sorted(glob.glob(os.path.join(self.root, "compiler", "library", "*.scm")))
        self.assertGreater(len(files), 10)
        self.assertEqual(defined_twice(read(self.root, file) for file in files), [])
        own = {name for file in files for name in re.findall(r"^\(define \(?(%[^\s()]+)", read(self.root, file), re.MULTILINE)}
        machine = re.findall(r'^X\(\w+, *"(%[^"]+)"', read(self.root, "vm/bytecode/tensor_procedures.def"), re.MULTILINE)
        self.assertGreater(len(machine), 3)
        self.assertEqual(own.intersection(machine), set())
        self.assertEqual(defined_twice(["(define (a x) x)\n(define b 1)", "; (define b 2)\n(define (a) 2)"]), ["a"])

    def test_what_is_wrong_is_found(self):
        good = {"vm/low/a.h": "", "vm/high/b.h": '#include "vm/low/a.h"\n'}
        self.assertEqual(self.made_up(good), [])
        self.assertEqual(self.made_up({**good, "vm/low/c.cpp": '\n#include "vm/high/b.h"\n'}),
                         ["vm/low/c.cpp:2: vm/low -> vm/high (vm/high/b.h) is no arrow of docs/design.md",
                          "rooms in a circle: vm/high -> vm/low -> vm/high"])
        self.assertEqual(self.made_up({"vm/low/a.h": "", "vm/high/b.h": ""}), ["docs/design.md: vm/high -> vm/low: no source needs this arrow"])
        self.assertEqual(self.made_up({**good, "vm/low/a.h": '#include "vm/low/d.h"', "vm/low/d.h": '#include "vm/low/a.h"'}),
                         ["files in a circle: vm/low/a.h -> vm/low/d.h -> vm/low/a.h"])
        self.assertEqual(self.made_up({**good, "vm/low/a.h": '#include "vm/low/gone.h"'}), ["vm/low/a.h:1: includes what is not there"])
        self.assertEqual(self.made_up({**good, "vm/new/e.h": ""}), ["vm/new/e.h: stands in no room of docs/design.md"])
        self.assertEqual(self.made_up({**good, "vm/low/f.h": "", "vm/high/b.h": '#include "vm/low/a.h"\n#include "vm/low/f.h"\n'},
                                      "| `vm/low` | | |\n| `vm/high` | | `vm/low/a.h` |\n"),
                         ["vm/high/b.h:2: vm/high -> vm/low (vm/low/f.h) is no arrow of docs/design.md"])

    def test_what_is_wrong_with_the_libraries_is_found(self):
        good = {"vm/low/a.h": "", "vm/high/b.h": '#include "vm/low/a.h"\n'}
        rooms = "cairn_room(low vm/low fmt)\ncairn_room(high vm/high low)\n"
        self.assertEqual(self.made_up(good, build=rooms), [])
        self.assertEqual(self.made_up(good, build=rooms + "target_link_libraries(low PUBLIC high)\n"),
                         ["libraries in a circle: high -> low -> high", "CMakeLists.txt: low -> high: vm/low does not know vm/high"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Rooms.root = os.path.abspath(arguments.root)
    unittest.main(argv=["rooms.py", *arguments.tests])
