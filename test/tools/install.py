#!/usr/bin/env python3
"""What is installed is enough: a C program compiles against the headers and links both ways, shared and static.

    install.py --build BUILD-FOLDER --source EXAMPLE.c
"""
import argparse
import glob
import os
import subprocess
import tempfile

MAIN = """#include <stdio.h>
int example(void (*print)(const char*, size_t));
static void print(const char* text, size_t bytes) { fwrite(text, 1, bytes, stdout); }
int main(void) { return example(print); }
"""


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        output("cmake", "--install", arguments.build, "--prefix", folder)
        library = os.path.dirname(glob.glob(f"{folder}/lib*/**/libcairn.so", recursive=True)[0])
        with open(f"{folder}/main.c", "w") as file:
            file.write(MAIN)
        compile = ["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{folder}/include", arguments.source, f"{folder}/main.c"]
        output(*compile, f"-L{library}", "-lcairn_compiler", "-lcairn", f"-Wl,-rpath,{library}", "-o", f"{folder}/shared")
        output(*compile, f"{library}/libcairn_compiler.a", f"{library}/libcairn.a", "-lfmt", "-lmimalloc", "-lstdc++", "-lm", "-o",
               f"{folder}/static")
        for program in ("shared", "static"):
            assert output(f"{folder}/{program}") == "12.0\n", program
        exported = [line.split()[-1] for name in ("cairn", "cairn_compiler")
                    for line in output("nm", "-D", "--defined-only", f"{library}/lib{name}.so").splitlines()]
        assert exported and all(name.startswith("cairn_") for name in exported), exported
        assert output(f"{folder}/bin/vmrun", "--version").startswith("vmrun")


if __name__ == "__main__":
    main()
