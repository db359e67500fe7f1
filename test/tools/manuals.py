#!/usr/bin/env python3
"""Manual pages and completions say what --help says, docs/tools.md has every option, and shells complete by what they are given."""
import os
import re
import shutil
import subprocess
import unittest

import driver
from driver import ToolTest

TOOLS = ("vmrun", "vmc", "vmdis")


class Manuals(ToolTest):
    docs = None

    def options(self, tool):
        """The table of --help: for each option its names and the word for its value, "" if it takes none."""
        options = {}
        for names, value in re.findall(r"^  (-\S+)(?: ([A-Z/|]+)\S*)?(?= |$)", self.tool(tool, "--help", code=0).output, re.MULTILINE):
            options[tuple(name.removesuffix("[=FILE]") for name in names.split(","))] = "[FILE]" if names.endswith("[=FILE]") else value
        self.assertGreaterEqual(len(options), 4)
        return options

    def completion(self, tool, shell):
        return self.tool(tool, f"--help-completion={shell}", code=0).output

    def test_the_manual_has_every_option(self):
        for tool in TOOLS:
            page = self.tool(tool, "--help-man", code=0).output
            rows = re.findall(r"^\.TP\n(\\fB\\-.*)$", page, re.MULTILINE)
            shown = {}
            for row in rows:
                row = row.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
                names, _, value = re.sub(r"\[=(\w+)\]$", r"=[\1]", row).partition("=")
                shown[tuple(names.split(", "))] = value
            self.assertEqual(shown, self.options(tool))

    def test_man_has_nothing_to_complain_of(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff here")
        for tool in TOOLS:
            page = self.tool(tool, "--help-man", code=0).output
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"], input=page, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_page_has_every_option(self):
        with open(os.path.join(self.docs, "tools.md")) as file:
            page = file.read()
        common = self.rows(page.split("\n## ")[0])
        for tool in TOOLS:
            section = next(part for part in page.split("\n## ") if part.startswith(tool))
            self.assertEqual({**common, **self.rows(section)}, self.options(tool))

    @staticmethod
    def rows(text):
        """The first columns of tables of options, as options() gives them. Kinds of value have a form each: `--save-every=N`, `...=TIME`."""
        options = {}
        for row in re.findall(r"^\| (`-.*?`) \|", text, re.MULTILINE):
            forms = [form.partition("=") for form in re.findall(r"`([^`]*)`", row)]
            values = [value for _, _, value in forms if value]
            bare = [name for name, _, value in forms if not value and name in [other for other, _, given in forms if given]]
            options[tuple(dict.fromkeys(name for name, _, _ in forms))] = f"[{values[0]}]" if bare else "|".join(values)
        return options

    def test_the_page_has_every_exit_code(self):
        with open(os.path.join(self.docs, "tools.md")) as file:
            table = re.search(r"### Exit codes\n\n(.*?)\n\n", file.read(), re.DOTALL).group(1)
        listed = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
        page = self.tool("vmrun", "--help-man", code=0).output.split(".SH EXIT STATUS")[1]
        self.assertEqual(re.findall(r"^\\fB(\d+)\\fR$", page, re.MULTILINE), listed)

    def test_other_shells_are_refused(self):
        self.assertIn("bash,zsh,fish", self.tool("vmrun", "--help-completion=tcsh", code=2).errors)

    def completed(self, tool, *words):
        """What bash proposes for the last of the words; `=` is a word by itself, as bash has it."""
        script = (self.completion(tool, "bash") + "\ncompopt() { :; }\n" +  # needs a completion that bash itself has begun
                  f'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{tool}; printf "%s\\n" "${{COMPREPLY[@]}}"')
        done = subprocess.run(["bash", "-c", script, "bash", tool, *words], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split("\n")) - {""}

    def test_bash_completes_options_and_their_values(self):
        for tool in TOOLS:
            names = {name for names in self.options(tool) for name in names}
            self.assertEqual({word.rstrip("=") for word in self.completed(tool, "-")}, names)
        self.assertEqual(self.completed("vmrun", "--che"), {"--checkpoint=", "--check-nan"})
        self.assertEqual(self.completed("vmc", "--emit", "=", ""), {"bc", "asm", "ir"})
        self.assertEqual(self.completed("vmc", "--emit", "="), {"bc", "asm", "ir"})
        self.assertEqual(self.completed("vmc", "--emit", "a"), {"asm"})
        self.assertEqual(self.completed("vmrun", "--steps", "=", ""), set())

    def test_bash_completes_files(self):
        self.write("a b.scm", "1")
        self.write("one.capsule", "")
        os.mkdir(self.path("folder"))
        everything = {"a b.scm", "one.capsule", "folder"}
        self.assertEqual(self.completed("vmrun", ""), everything)
        self.assertEqual(self.completed("vmrun", "--resume", "=", "o"), {"one.capsule"})
        self.assertEqual(self.completed("vmrun", "--stats", "=", "o"), {"one.capsule"})
        self.assertEqual(self.completed("vmrun", "--library", "=", ""), {"folder"})
        self.assertEqual(self.completed("vmrun", "--steps", "=", "3", "--stats", ""), everything)

    def test_what_follows_the_program_is_its_own(self):
        self.assertIn("--steps=", self.completed("vmrun", "--seed", "3", "--st"))
        self.assertIn("--steps=", self.completed("vmrun", "--seed", "=", "3", "--stats", "--st"))
        self.assertEqual(self.completed("vmrun", "--seed", "=", "3", "a.scm", "--st"), set())
        self.assertEqual(self.completed("vmc", "a.scm", "--strip"), {"--strip"})

    def test_zsh_and_fish_take_their_completions(self):
        for shell in ("zsh", "fish"):
            if shutil.which(shell) is None:
                continue
            for tool in TOOLS:
                self.write("completion", self.completion(tool, shell))
                done = subprocess.run([shell, "-n", self.path("completion")], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_zsh_and_fish_are_told_every_option(self):
        for tool in TOOLS:
            names = {name for names in self.options(tool) for name in names}
            self.assertEqual(set(re.findall(r"^  '\*(-[\w-]+?)[=+]?-?\[", self.completion(tool, "zsh"), re.MULTILINE)), names)
            told = set()
            for line in re.findall(r"^complete -c \w+(.*?)(?: -[xrd] .*)$", self.completion(tool, "fish"), re.MULTILINE):
                told |= {"-" + name for name in re.findall(r" -s (\S+)", line)} | {"--" + name for name in re.findall(r" -l (\S+)", line)}
            self.assertEqual(told, names)


if __name__ == "__main__":
    arguments = driver.parse(__doc__, docs="the folder of the documentation")
    ToolTest.bin = os.path.abspath(arguments.bin)
    Manuals.docs = os.path.abspath(arguments.docs)
    unittest.main(argv=["manuals.py", *arguments.tests])
