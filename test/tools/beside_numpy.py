#!/usr/bin/env python3
"""The shared libraries come late into a process that has an allocator, threads and numerical libraries of its own: Python with NumPy. Nothing
of theirs may replace what others have begun to use, so they are loaded, used and asked for too much memory there.

    beside_numpy.py --library FOLDER      the folder of libcairn.so and libcairn_compiler.so

Runs itself under the first Python that has NumPy: this one, Debian's, or one that pip furnishes in a folder of its own.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77  # what CTest takes for skipped; with CAIRN_NUMPY=required, as ./tools/test sets it, a failure instead


def has_numpy(python):
    try:
        return subprocess.run([python, "-c", "import numpy"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def python_with_numpy(folder):
    for python in (sys.executable, "/usr/bin/python3"):
        if has_numpy(python):
            return python
    python = os.path.join(folder, "numpy", "bin", "python3")
    for command in ([sys.executable, "-m", "venv", os.path.join(folder, "numpy")], [python, "-m", "pip", "install", "-q", "numpy"]):
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
        except (OSError, subprocess.TimeoutExpired):
            return None
    return python if has_numpy(python) else None


class BesideNumPy(unittest.TestCase):
    library = None

    @classmethod
    def setUpClass(cls):
        import ctypes
        import numpy
        cls.ctypes, cls.numpy = ctypes, numpy
        numbers = numpy.random.default_rng(0).standard_normal((300, 300))
        cls.expected = float(numpy.sum(numbers @ numbers))  # so that its own threads and memory are there already
        cls.cairn = ctypes.CDLL(os.path.join(cls.library, "libcairn.so"))
        cls.compiler = ctypes.CDLL(os.path.join(cls.library, "libcairn_compiler.so"))
        for free in (cls.cairn.cairn_free, cls.cairn.cairn_module_free, cls.cairn.cairn_vm_free, cls.compiler.cairn_compiler_free):
            free.argtypes, free.restype = [ctypes.c_void_p], None
        cls.cairn.cairn_vm_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64]

    def text(self, function, vm):
        pointer = self.ctypes.c_void_p()
        self.assertEqual(function(vm, self.ctypes.byref(pointer)), 0)
        text = self.ctypes.string_at(pointer).decode()
        self.cairn.cairn_free(pointer)
        return text

    def run_program(self, source):
        """Status of the run, and the value of the last form or the error."""
        ctypes = self.ctypes
        code, size, error = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
        source = source.encode()
        status = self.compiler.cairn_compile(b"guest", source, ctypes.c_size_t(len(source)), None, ctypes.byref(code), ctypes.byref(size),
                                             ctypes.byref(error))
        self.assertEqual(status, 0, error.value and ctypes.string_at(error))
        module, vm = ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(self.cairn.cairn_module_read(code, size, ctypes.byref(module), None), 0)
        self.assertEqual(self.cairn.cairn_vm_create(None, ctypes.byref(vm), None), 0)
        self.assertEqual(self.cairn.cairn_vm_load(vm, module, None), 0)
        status = self.cairn.cairn_vm_run(vm, 2**64 - 1)
        text = self.text(self.cairn.cairn_vm_result if status == 0 else self.cairn.cairn_vm_error, vm)
        self.cairn.cairn_vm_free(vm)
        self.cairn.cairn_module_free(module)
        self.compiler.cairn_compiler_free(code)
        return status, text

    def test_a_program_runs(self):
        self.assertEqual(self.run_program("(define (f x) (* x x x)) (cdr (*j f 2. 1.))"), (0, "12.0"))

    def test_large_products_and_numpys_take_turns(self):
        ones = self.numpy.ones((600, 600))
        for _ in range(3):
            self.assertEqual(self.run_program("(sumall (matmul (fill '(600 600) 1.) (fill '(600 600) 1.)))"), (0, "2.16e+08"))
            self.assertEqual(float((ones @ ones).sum()), 216e6)

    def test_memory_that_is_refused_is_an_error(self):
        status, text = self.run_program("(list->tensor (tensor->list (expand-tensor (fill '(1) 1.0) '(1000000000000000))))")
        self.assertEqual(status, 3, text)
        status, text = self.run_program("(make-vector 1000000000000 0)")
        self.assertEqual(status, 3, text)
        self.assertEqual(self.run_program("(+ 1 2)"), (0, "3"))

    def test_no_allocator_comes_along(self):
        for name in ("libcairn.so", "libcairn_compiler.so"):
            lines = subprocess.run(["readelf", "-d", os.path.join(self.library, name)], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertIn("libc.so", lines)
            self.assertNotIn("malloc", lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if not has_numpy(sys.executable):
        with tempfile.TemporaryDirectory() as folder:
            python = python_with_numpy(folder)
            if python is None:
                print("NumPy is needed and cannot be had: install python3-numpy (tools/common/install.sh does)", file=sys.stderr)
                sys.exit(1 if os.environ.get("CAIRN_NUMPY") == "required" else SKIPPED)
            sys.exit(subprocess.run([python, *sys.argv]).returncode)
    BesideNumPy.library = os.path.abspath(arguments.library)
    unittest.main(argv=["beside_numpy.py", *arguments.tests])
