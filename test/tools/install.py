#!/usr/bin/env python3
"""What is installed is enough: projects in C and C++ find it with CMake and with pkg-config, and link it both ways, shared and static.

    install.py --build BUILD-FOLDER --consumer PROJECT --samples FOLDER
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from embed import promised

PRINTS = {"in_c": "12.0\n", "in_cpp": "ready\n5\n"}
C = ["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
CPP = ["c++", "-std=c++20", "-Wall", "-Wextra", "-pedantic", "-Werror"]


def output(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Installation(unittest.TestCase):
    """The files are installed once and moved: nothing may know where they were. Archives have a folder without the shared libraries, for
    the linker prefers those."""

    build = consumer = samples = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.shared, cls.static = os.path.join(cls.folder, "moved/shared"), os.path.join(cls.folder, "moved/static")
        first = os.path.join(cls.folder, "first")
        output("cmake", "--install", cls.build, "--prefix", first)
        os.mkdir(os.path.join(cls.folder, "moved"))
        shutil.copytree(first, cls.static, symlinks=True)
        os.rename(first, cls.shared)
        for path in glob.glob(f"{cls.library(cls.static)}/*.so*"):
            os.remove(path)

    @staticmethod
    def library(prefix):
        return os.path.dirname(glob.glob(f"{prefix}/lib*/**/libcairn.a", recursive=True)[0])

    def found_by_cmake(self, prefix, *options):
        with tempfile.TemporaryDirectory(dir=self.folder) as build:
            output("cmake", "-S", self.consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
            output("cmake", "--build", build)
            for program, text in PRINTS.items():
                self.assertEqual(output(f"{build}/{program}"), text)

    def test_links_of_the_pages_lead_somewhere(self):
        pages = glob.glob(f"{self.shared}/share/doc/cairn/**/*.md", recursive=True)
        self.assertGreaterEqual(len(pages), 14)
        for page in pages:
            with open(page) as file:
                targets = re.findall(r"\]\(([^)\s#]+)", re.sub(r"`[^`\n]*`", "", file.read()))
            for target in targets:
                if not target.startswith(("http://", "https://")):
                    with self.subTest(page=page, target=target):
                        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), target)))

    def test_cmake_finds_the_shared_libraries(self):
        self.found_by_cmake(self.shared)

    def test_cmake_finds_the_archives(self):
        self.found_by_cmake(self.shared, "-DSTATIC=ON")
        self.found_by_cmake(self.static, "-DSTATIC=ON")

    def test_cmake_refuses_an_installation_of_another_version(self):
        with open(os.path.join(self.consumer, "CMakeLists.txt")) as file:
            text = file.read()
        with tempfile.TemporaryDirectory(dir=self.folder) as project:
            with open(f"{project}/CMakeLists.txt", "w") as file:
                file.write(text.replace("find_package(cairn ", "find_package(cairn 9.1 "))
            done = subprocess.run(["cmake", "-S", project, "-B", f"{project}/build", f"-DCMAKE_PREFIX_PATH={self.shared}"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("9.1", done.stderr)

    def compiled(self, compiler, source, prefix, *options):
        """The program that pkg-config's flags make of one file."""
        environment = dict(os.environ, PKG_CONFIG_PATH=f"{self.library(prefix)}/pkgconfig")
        flags = output("pkg-config", "--cflags", "--libs", *options, "cairn_compiler", "cairn", env=environment).split()
        program = os.path.join(self.folder, "program")
        output(*compiler, source, *flags, "-lm", f"-Wl,-rpath,{self.library(prefix)}", "-o", program)
        return program

    def test_pkg_config_finds_both(self):
        for prefix, options in ((self.shared, []), (self.static, ["--static"])):
            for program, text in PRINTS.items():
                compiler, ending = (CPP, "cpp") if program == "in_cpp" else (C, "c")
                self.assertEqual(output(self.compiled(compiler, f"{self.consumer}/{program}.{ending}", prefix, *options)), text)

    def test_the_samples_compile_by_themselves(self):
        for source in glob.glob(f"{self.samples}/*.c"):
            with self.subTest(source=source), open(source) as file:
                self.assertEqual(output(self.compiled(C, source, self.shared), cwd=self.folder), promised(file.read()))

    def test_only_the_interface_is_exported(self):
        for name in ("cairn", "cairn_compiler"):
            lines = output("nm", "-D", "--defined-only", f"{self.library(self.shared)}/lib{name}.so").splitlines()
            exported = [line.split()[-1] for line in lines]
            self.assertTrue(exported)
            self.assertEqual([symbol for symbol in exported if not symbol.startswith("cairn_")], [])

    def test_nothing_remembers_where_it_was_built(self):
        texts = [path for ending in ("cmake", "pc", "h") for path in glob.glob(f"{self.shared}/**/*.{ending}", recursive=True)]
        self.assertGreaterEqual(len(texts), 6)
        for path in texts:
            with open(path) as file:
                text = file.read()
            for place in (os.path.dirname(self.build), self.folder, "/usr/local"):
                self.assertNotIn(place, text, path)

    def test_the_tools_run(self):
        self.assertTrue(output(f"{self.shared}/bin/vmrun", "--version").startswith("vmrun"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "consumer", "samples"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    for name in ("build", "consumer", "samples"):
        setattr(Installation, name, os.path.abspath(getattr(arguments, name)))
    unittest.main(argv=["install.py", *arguments.tests])
