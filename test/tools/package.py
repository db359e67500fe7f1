#!/usr/bin/env python3
"""The package that cpack makes: what it says of itself, and that its tools work from wherever dpkg puts them.

    package.py --build BUILD-FOLDER
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77

# Needs the library in Scheme, a derivative, and products large enough for the libraries of mathematics.
PROGRAM = """
(define a (fill '(512 512) .5))
(write (map (lambda (x) (* x x)) '(1 2 3)))
(write (gradient (lambda (x) (* x x x)) 2))
(write (tensor->number (narrow-tensor (narrow-tensor (matmul a a) 0 0 1) 1 0 1)))
"""
PRINTS = "(1 4 9)12.0128.0"


def output(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Package(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        output("cpack", "-G", "DEB", "--config", f"{cls.build}/CPackConfig.cmake", "-B", f"{cls.folder}/made", cwd=cls.folder)
        cls.package, = glob.glob(f"{cls.folder}/made/*.deb")
        cls.root = f"{cls.folder}/root"
        output("dpkg-deb", "-x", cls.package, cls.root)

    def field(self, name):
        return output("dpkg-deb", "-f", self.package, name).strip()

    def has_math(self):
        return bool(glob.glob(f"{self.build}/lib/libcairn_math.so"))

    def test_it_says_what_it_is(self):
        self.assertEqual(self.field("Package"), "cairn")
        self.assertEqual(self.field("Architecture"), output("dpkg", "--print-architecture").strip())
        self.assertRegex(self.field("Maintainer"), r"^.+ <\S+@\S+>$")
        self.assertGreater(len(self.field("Description").splitlines()), 2)
        tool = output(f"{self.root}/usr/bin/vmrun", "--version").split()[-1]
        self.assertEqual(self.field("Version"), tool)
        self.assertIn(f"_{tool}_", os.path.basename(self.package))

    def test_it_depends_on_the_libraries_it_links(self):
        depends = {entry.split()[0] for entry in self.field("Depends").split(", ")}
        linked = {"libc6", "libfmt9", "libstdc++6"}
        if self.has_math():
            linked |= {"libdnnl2", "libgomp1"}
        self.assertLessEqual(linked, depends)
        for name in depends:
            self.assertNotIn("-dev", name)

    def test_its_tools_work(self):
        with open(f"{self.folder}/a.scm", "w") as file:
            file.write(PROGRAM)
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": f"{self.folder}/loaded"}
        self.assertEqual(output(f"{self.root}/usr/bin/vmrun", "a.scm", cwd=self.folder, env=environment), PRINTS)
        loaded = ""
        for path in glob.glob(f"{self.folder}/loaded.*"):
            with open(path, errors="replace") as file:
                loaded += file.read()
        # The module of the package, not the one of the build.
        self.assertEqual(bool(re.search(re.escape(self.root) + r"/usr/\S*/cairn/libcairn_math\.so", loaded)), self.has_math())
        output(f"{self.root}/usr/bin/vmc", "a.scm", cwd=self.folder)
        self.assertEqual(output(f"{self.root}/usr/bin/vmrun", "a.bc", cwd=self.folder), PRINTS)
        self.assertIn("matmul", output(f"{self.root}/usr/bin/vmdis", "a.bc", cwd=self.folder))

    def test_nothing_remembers_where_it_was_built(self):
        for path in glob.glob(f"{self.root}/usr/bin/*"):
            self.assertNotRegex(output("readelf", "-d", path), r"R(UN)?PATH")

    def test_manuals_completions_and_documents_are_there(self):
        share = f"{self.root}/usr/share"
        for tool in ("vmrun", "vmc", "vmdis"):
            for path in (f"man/man1/{tool}.1", f"bash-completion/completions/{tool}", f"zsh/site-functions/_{tool}",
                         f"fish/vendor_completions.d/{tool}.fish"):
                self.assertGreater(os.path.getsize(f"{share}/{path}"), 100)
        for path in ("copyright", "README.md", "CHANGELOG.md", "docs/language.md", "docs/tools.md"):
            self.assertGreater(os.path.getsize(f"{share}/doc/cairn/{path}"), 100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    missing = [tool for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file", "readelf") if shutil.which(tool) is None]
    if missing:
        print("not here:", ", ".join(missing))
        sys.exit(SKIPPED)
    Package.build = os.path.abspath(arguments.build)
    unittest.main(argv=["package.py", *arguments.tests])
