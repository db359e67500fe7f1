"""Programs: where they come from, their messages, their streams, files, and procedures of the host."""
import contextlib
import copy
import io
import os
import pathlib
import pickle
import sys
import tempfile
import unittest
import warnings

import numpy as np

import cairn

HOSTED = """
(define (f x) (twice (sin (twice x))))
(define (long n x) (if (= n 0) x (long (- n 1) (+ x (measured)))))
(define (doubled n x) (if (= n 0) x (doubled (- n 1) (twice x))))
(define (fails x) (failing x))
(define (handled x) (call-with-error-handler (lambda (message irritants) message) (lambda () (failing x))))
(define (scaled t) (sumall (square (scale t))))
(define (many n t) (if (= n 0) (sumall t) (many (- n 1) (scale t))))
(define (structures x) (shape-of x))
(define (again x) (back x))
"""


def doubled(a):
    return 2 * a


class Arguments(unittest.TestCase):
    """What is no argument of the package's functions says what would be one."""

    def setUp(self):
        self.m = cairn.compile("(define (f x) (* x x))\n(define (g d) 0)")

    def refused(self, error, words, action):
        with self.assertRaisesRegex(error, words):
            action()

    def test_of_compile(self):
        for source in (None, b"(define x 1)", 3):
            self.refused(TypeError, "source: expected the text of a program or the path", lambda: cairn.compile(source))
        for level in (9, -1, "2", True, 1.0):
            self.refused(ValueError, "level: 0, 1 or 2", lambda: cairn.compile("1", level=level))
        self.refused(TypeError, "an int, or text such as", lambda: cairn.compile("1", memory=1e6))
        self.refused(ValueError, "memory: 'lots' is no size", lambda: cairn.compile("1", memory="lots"))
        for nothing in (0, "0", -1):
            self.refused(ValueError, "memory: a number of bytes from 1 on", lambda: cairn.compile("1", memory=nothing))
        self.refused(ValueError, "output_bytes: a number of bytes from 0 on, not -1", lambda: cairn.compile("1", output_bytes=-1))
        self.refused(ValueError, "spill_bytes: 'x' is no size", lambda: cairn.compile("1", spill_bytes="x"))
        self.refused(ValueError, "seed: expected an int from 0 on, below 2.64, got -1", lambda: cairn.compile("1", seed=-1))
        self.refused(TypeError, "seed: expected an int, got a str", lambda: cairn.compile("1", seed="x"))
        for wrong in ("abc", 3, [3], b"abc"):
            self.refused(TypeError, "arguments: expected a list of str", lambda: cairn.compile("1", arguments=wrong))
        for option in ("read", "write", "libraries"):
            for wrong in (3, [3], b"abc", [b"abc"], "", [""]):
                self.refused(TypeError, f"{option}: expected a path", lambda: cairn.compile("1", **{option: wrong}))
        self.refused(ValueError, "character 0", lambda: cairn.compile("1", schedule="auto\0x"))
        self.refused(ValueError, "character 0", lambda: self.m["f\0x"])
        self.refused(ValueError, "parameters", lambda: cairn.host(abs, parameters=2**32))
        self.refused(TypeError, "is a function, not an int", lambda: cairn.compile("(define (g) (h))", hosts={"h": 3}))

    def test_of_operators(self):
        for wrong in ("0", 0.5, (0.5,), True, None):
            self.refused(TypeError, "argnums: the place of an argument", lambda: cairn.grad(self.m.f, wrong))
        self.refused(TypeError, "is differentiated, not an object", lambda: cairn.grad(object()))
        self.refused(cairn.ProgramError, "called with fewer arguments", lambda: cairn.grad(self.m.f, 5)(2.0))
        for places, given in ((0, ()), (0, (2.0,)), ((0, 1), (2.0, 3.0))):
            self.refused(cairn.ProgramError, "hvp: expected the arguments of the procedure and, behind them, a vector", lambda: cairn.hvp(self.m.f, places)(*given))
        self.refused(ValueError, "jacobian: by one argument", lambda: cairn.jacobian(self.m.f, (0,)))
        self.assertEqual(cairn.grad(self.m.f, np.int64(0), memory=np.int64(10**6))(2.0), 4.0)
        self.refused(TypeError, "got the float 1000000.0", lambda: cairn.grad(self.m.f, memory=1e6))
        self.refused(TypeError, r"the rule is a procedure of the program, such as .define rule", lambda: cairn.update(self.m.f, lambda: 0))

    def test_places_in_arguments(self):
        self.refused(TypeError, r"""argument 1\['k'\]\[1\]: a set is no value""", lambda: self.m.g({"k": [1, {2}]}))

    def test_articles(self):
        self.refused(TypeError, "argument 1: an object is no value", lambda: self.m.f(object()))

    def test_keys_that_are_one_key_to_python(self):
        m = cairn.compile("(define (f) (dict-set (dict-set (dict) \"a\" 1) 'a 2))")
        self.refused(ValueError, "one key to Python", m.f)


class Messages(unittest.TestCase):
    def test_a_text_that_does_not_compile(self):
        with self.assertRaises(cairn.CompileError) as raised:
            cairn.compile("(define (f x)\n  (* y x))", name="mine.scm")
        error = raised.exception
        self.assertEqual(str(error), "mine.scm:2:6: error: unbound name 'y'\n  (* y x))\n     ^")
        self.assertEqual((error.file, error.line, error.column, error.message), ("mine.scm", 2, 6, "unbound name 'y'"))
        with self.assertRaises(cairn.CompileError):
            cairn.compile("(define (f x)")

    def test_a_program_that_goes_wrong(self):
        m = cairn.compile("(define (f x)\n  (car x))\n(define (g x) (+ 1 (f x)))", name="mine.scm")
        with self.assertRaises(cairn.ProgramError) as raised:
            m.g(3)
        error = raised.exception
        self.assertIn("mine.scm:2:3: error: car: expected a pair, got 3\n  (car x))\n  ^~~~~~~", str(error))
        self.assertEqual((error.file, error.line, error.column, error.message), ("mine.scm", 2, 3, "car: expected a pair, got 3"))
        self.assertEqual([call[0] for call in error.calls], ["f", "g"])
        self.assertEqual(m.g([5]), 6)
        with self.assertRaises(cairn.ProgramError):
            cairn.compile("(define x 1)\n(car x)")

    def test_what_errors_have(self):
        m = cairn.compile("(define (bad x) (car x))\n(define (large n) (make-vector n 0))", memory="2MiB")
        m.cancel()
        place = {"file", "line", "column", "message"}
        for kind, has, action in ((cairn.CompileError, place, lambda: cairn.compile("(")), (cairn.CancelledError, {"run"}, lambda: m.bad([1])),
                                  (cairn.ProgramError, place | {"calls"}, lambda: m.bad(1)), (cairn.BudgetError, place | {"calls"}, lambda: m.large(10**7))):
            with self.assertRaises(kind) as raised:
                action()
            self.assertEqual({name for name in place | {"calls", "run"} if getattr(raised.exception, name, None)}, has)

    def test_warnings_are_pythons(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cairn.compile("(define (f x) (define y 1) x)\n(define p 1)\n(define p 2)")
        self.assertEqual([str(warning.message).splitlines()[0] for warning in caught], ["program:1:23: warning: 'y' is never used"])

    def test_a_budget_that_does_not_hold(self):
        m = cairn.compile("(define (f n) (make-vector n 0))", memory="2MiB")
        with self.assertRaises(cairn.BudgetError) as raised:
            m.f(10**7)
        self.assertIsInstance(raised.exception, MemoryError)
        self.assertEqual(len(m.f(10)), 10)
        for size in (0, 5, "5"):
            with self.assertRaises(cairn.BudgetError):
                cairn.compile('(display "a text of some length")', output_bytes=size, output=False)
        cairn.compile('(display "a text of some length")', output_bytes="1KiB", output=False)


class Sources(unittest.TestCase):
    def test_paths_includes_and_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "main.scm").write_text('(include "part.scm")\n(import lib)\n(define (f x) (g (h x)))')
            (place / "part.scm").write_text("(define (g x) (* 2 x))")
            (place / "libs").mkdir()
            (place / "libs" / "lib.scm").write_text("(define (h x) (+ 1 x))")
            self.assertEqual(cairn.compile(place / "main.scm", libraries=[place / "libs"]).f(3), 8)
            self.assertEqual(cairn.compile(str(place / "main.scm"), libraries=[str(place / "libs")]).f(3), 8)
            for one in (place / "libs", str(place / "libs")):
                self.assertEqual(cairn.compile(place / "main.scm", libraries=one).f(3), 8)
            with self.assertRaises(cairn.CompileError):
                cairn.compile(place / "main.scm")
        with self.assertRaises(FileNotFoundError):
            cairn.compile("nowhere.scm")

    def test_a_program_with_a_car_of_its_own(self):
        m = cairn.compile("(define (car (cons x y)) x)\n(define (f x y) (* (car x) y))")
        self.assertEqual(cairn.grad(m.f, (0, 1))([2.0], 3.0), ([3.0], 2.0))

    def test_modules_pickle_and_copy(self):
        m = pickle.loads(pickle.dumps(cairn.compile("(define k 3)\n(define (f x) (* k x))", name="mine", seed=5)))
        self.assertEqual((m.f(2), m.k, repr(m)), (6, 3, "<program mine>"))
        self.assertEqual(m.copy().f(2), 6)
        again, other = pickle.loads(pickle.dumps([m.f, m.f]))  # the program goes with them, once
        self.assertEqual((again(2), again.machine is other.machine), (6, True))
        self.assertIs(copy.deepcopy([m.f])[0], m.f)
        with self.assertRaisesRegex(TypeError, "only procedures that the program defines"):
            pickle.dumps(cairn.grad(m.f))
        host = pickle.loads(pickle.dumps(cairn.compile("(define (f x) (d x))", hosts={"d": doubled})))
        self.assertEqual(host.f(2), 4)

    def test_a_copy_prints_what_it_is_called_to_print(self):
        told = []
        m = cairn.compile('(define (f x) (begin (write x) x))\n(write "once")', output=told.append)
        m.copy().f(2)
        pickle.loads(pickle.dumps(cairn.compile('(define (f x) x)\n(write "silent")', output=False).f))(3)
        self.assertEqual("".join(told), '"once"2')

    def test_options(self):
        text = "(define (draw) (random-real))\n(define (words) (command-line))"
        self.assertEqual(cairn.compile(text, seed=1).draw(), cairn.compile(text, seed=1).draw())
        self.assertNotEqual(cairn.compile(text, seed=1).draw(), cairn.compile(text, seed=2).draw())
        self.assertEqual(cairn.compile(text, arguments=["a", "b"]).words(), ["a", "b"])
        with self.assertRaisesRegex(cairn.Error, "quick"):
            cairn.compile("1", schedule="quick")
        taped = "(define (slope) (cdr (*j (lambda (w) (sumall (matmul (rand '(64 64) 'f32 'cpu 1) w))) (ones '(64 1)) 1.)))"
        self.assertNotEqual(cairn.compile(taped, lossy="absolute=.1,operators=product").slope().tolist(), cairn.compile(taped).slope().tolist())
        with self.assertRaisesRegex(cairn.Error, "there is no lossy policy 'quick'"):
            cairn.compile("1", lossy="quick")
        with self.assertRaises(cairn.ProgramError):
            cairn.compile("(define (f x) (log x))", check_nan=True).f(-1.0)
        with self.assertRaisesRegex(cairn.Error, r"profile=True"):
            cairn.compile("1").profile
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(cairn.compile("(define (f x) x)", spill=pathlib.Path(folder), spill_bytes="1MiB", spill_encoding="always").f(2), 2)
        self.assertIn("f", cairn.compile("(define (f n) (if (= n 0) 0 (f (- n 1))))\n(f 100)", profile=True).profile)

    def test_files_are_granted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            np.save(path, np.arange(3.0))
            text = "(define (f path) (sumall (read-npy path)))\n(define (g path) (write-text path \"x\"))"
            with self.assertRaisesRegex(cairn.ProgramError, r"may not be read; compile\(read=\[...\]\) grants") as raised:
                cairn.compile(text).f(path)
            self.assertRegex(raised.exception.message, r"compile\(read=")
            m = cairn.compile(text, read=[folder])
            self.assertEqual(m.f(path), 3.0)
            with self.assertRaisesRegex(cairn.ProgramError, r"may not be written; compile\(write=\[...\]\) grants"):
                m.g(os.path.join(folder, "y"))
            cairn.compile(text, write=[folder]).g(os.path.join(folder, "y"))
            self.assertEqual(pathlib.Path(folder, "y").read_text(), "x")

    def test_one_path_grants_itself_and_nothing_else(self):
        text = "(define (f path) (sumall (read-npy path)))\n(define (g path) (write-text path \"x\"))"
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "data")
            os.mkdir(data)
            for place in (folder, data):
                np.save(os.path.join(place, "x.npy"), np.arange(3.0))
            for one in (data, pathlib.Path(data)):
                m = cairn.compile(text, read=one, write=one)
                self.assertEqual(m.f(os.path.join(data, "x.npy")), 3.0)
                m.g(os.path.join(data, "y"))
                for outside in (lambda: m.f(os.path.join(folder, "x.npy")), lambda: m.g(os.path.join(folder, "y"))):
                    with self.assertRaisesRegex(cairn.ProgramError, "may not be"):
                        outside()

    def test_definitions_of_the_packages_own_are_none_of_the_programs(self):
        m = cairn.compile("(define (f x) x)")
        self.assertEqual(("f" in m, "python/grad" in m, 3 in m, list(m)), (True, False, False, ["f"]))
        with self.assertRaises(AttributeError):
            m["python/grad"]

    def test_a_device_that_was_not_built(self):
        try:
            cairn.compile("1", device="cuda")
        except cairn.Error as error:
            if "not installed" in str(error):
                self.assertIn("pip install . --config-settings=cmake.define.CAIRN_CUDA=ON", str(error))


class Streams(unittest.TestCase):
    def test_output(self):
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            m = cairn.compile('(define (say x) (display x) (newline))\n(display "hello ü")')
            m.say(3)
        self.assertEqual(stream.getvalue(), "hello ü3\n")
        pieces = []
        cairn.compile('(display "a")(display "b")', output=pieces.append)
        self.assertEqual("".join(pieces), "ab")
        stream = io.StringIO()
        cairn.compile("(write '(1 2))", output=stream)
        self.assertEqual(stream.getvalue(), "(1 2)")
        with self.assertRaises(TypeError):
            cairn.compile("1", output=3)

    def test_output_that_fails(self):
        def refuse(text):
            raise OSError("full")

        with self.assertRaisesRegex(cairn.ProgramError, "output") as raised:
            cairn.compile('(display "a")', output=refuse)
        self.assertIsInstance(raised.exception.__cause__, OSError)

    def test_input(self):
        lines = iter(["1 2\n", "3.5\n", ""])
        self.assertEqual(cairn.compile("(define l (list (read-real) (read-real) (read-real)))", input=lambda: next(lines)).l, [1, 2, 3.5])
        self.assertEqual(cairn.compile("(define (f) (read-real))", input="7.5").f(), 7.5)
        before, sys.stdin = sys.stdin, io.StringIO("8\n")
        try:
            self.assertEqual(cairn.compile("(define (f) (read-real))").f(), 8)
        finally:
            sys.stdin = before
        with self.assertRaises(cairn.ProgramError):
            cairn.compile("(read-real)", input=False)

    def test_reports(self):
        told = []
        cairn.compile("(report 'step 1 'loss .5)\n(report 'step 2)", report=told.append)
        self.assertEqual(told, [{"step": 1.0, "loss": 0.5}, {"step": 2.0}])


class Ends(unittest.TestCase):
    """What is no Exception ends a run, whatever the program does with errors."""

    def test_handlers_of_the_program_do_not_swallow_it(self):
        for kind in (KeyboardInterrupt, SystemExit):
            def fails(kind=kind):
                raise kind

            m = cairn.compile("(define (tried) (call-with-error-handler (lambda (message irritants) 1) fails))\n"
                              "(define (f n) (if (= n 0) 3 (begin (tried) (f (- n 1)))))\n(define (g) 4)", hosts={"fails": fails})
            with self.assertRaises(kind):
                m.f(1)
            with self.assertRaises(kind):
                m.f(10**9)
            with self.assertRaises(kind):
                m.f.start(10**9).resume()
            self.assertEqual(m.g(), 4)

    def test_explanations_that_fail_are_told_of(self):
        def fails(text):
            raise ValueError("not now")

        told = []
        before, sys.unraisablehook = sys.unraisablehook, lambda raised: told.append(str(raised.exc_value))
        try:
            m = cairn.compile("(define (f x) (* x x))", explain=fails)
            self.assertEqual(cairn.grad(m.f)(2.0), 4.0)
        finally:
            sys.unraisablehook = before
        self.assertEqual(told, ["not now"])

    def test_rules_that_give_nothing(self):
        for rows in (None, [[None]]):
            m = cairn.compile("(define (f x) (h x))", hosts={"h": cairn.host(doubled, derivative=lambda x, y, rows=rows: rows)})
            with self.assertRaisesRegex(cairn.ProgramError, "gives rows of numbers"):
                cairn.grad(m.f)(2.0)


class Hosts(unittest.TestCase):
    def compiled(self, **changed):
        self.calls = []

        def measured():
            self.calls.append(1)
            return 1.0

        def failing(x):
            raise KeyError("no", x)

        hosts = {"twice": cairn.host(doubled, derivative=lambda x, y: [[2.0]], repeatable=True), "measured": measured, "failing": failing,
                 "scale": cairn.host(lambda t: 3 * t, reverse=lambda given, result, c: [3 * c], forward=lambda given, result, tangents: 3 * tangents[0],
                                     repeatable=True),
                 "shape-of": lambda x: [type(x).__name__, len(x)], "back": lambda x: x}
        return cairn.compile(HOSTED, hosts={**hosts, **changed})

    def test_values_go_both_ways(self):
        m = self.compiled()
        self.assertEqual(m.structures([1, 2]), ["list", 2])
        self.assertEqual(m.structures({"a": 1}), ["dict", 1])
        for value in ([1, (2.5, "x")], np.arange(3).tolist(), None, True):
            self.assertEqual(m.again(value), value)
        self.assertEqual(m.again(np.arange(3.0)).tolist(), [0, 1, 2])

    def test_derivatives_of_numbers(self):
        m = self.compiled()
        self.assertAlmostEqual(cairn.grad(m.f)(1.0), 4 * np.cos(2.0))
        self.assertAlmostEqual(cairn.jvp(m.f, (1.0,), (1.0,))[1], 4 * np.cos(2.0))
        with self.assertRaisesRegex(cairn.ProgramError, "first derivatives"):
            cairn.hvp(m.f)(1.0, 1.0)
        with self.assertRaisesRegex(cairn.ProgramError, "ValueError"):
            cairn.grad(self.compiled(twice=cairn.host(doubled, derivative=lambda x, y: [1, 2, 3])).f)(1.0)

    def test_derivatives_of_arrays(self):
        m = self.compiled()
        x = np.array([1.0, 2.0])
        self.assertEqual(cairn.grad(m.scaled)(x).tolist(), [18.0, 36.0])
        self.assertEqual(cairn.jvp(m.scaled, (x,), (np.ones(2),)), (45.0, 54.0))
        self.assertEqual(cairn.grad(m.many, 1, checkpoint="bisection,base=16")(40, x).tolist(), [3.0**40] * 2)

    def test_called_once_under_replay(self):
        m = self.compiled()
        cairn.grad(m.long, 1, checkpoint="bisection,base=16")(200, 1.0)
        self.assertEqual(len(self.calls), 200)
        seen = []

        def counted(t):
            seen.append(1)
            return 3 * t

        once = self.compiled(scale=cairn.host(counted, reverse=lambda given, result, c: [3 * c]))
        self.assertEqual(cairn.grad(once.many, 1, checkpoint="bisection,base=16")(40, np.ones(2)).tolist(), [3.0**40] * 2)
        self.assertEqual(len(seen), 40)

    def test_exceptions(self):
        m = self.compiled()
        with self.assertRaisesRegex(cairn.ProgramError, r"failing: KeyError: \('no', 3\)") as raised:
            m.fails(3)
        self.assertIsInstance(raised.exception.__cause__, KeyError)
        self.assertIsNotNone(raised.exception.__cause__.__traceback__)
        self.assertIn("KeyError", m.handled(3))
        with self.assertRaises(cairn.ProgramError) as raised:
            m.long("x", "y")
        self.assertIsNone(raised.exception.__cause__)

        def leave(x):
            raise SystemExit(3)

        with self.assertRaises(SystemExit):
            self.compiled(failing=leave).fails(1)
        with self.assertRaisesRegex(cairn.ProgramError, "a set is no value"):
            self.compiled(back=lambda x: set()).again(1)

    def test_its_own_machine_is_out_of_reach(self):
        m = self.compiled(back=lambda x: m.structures(x))
        with self.assertRaisesRegex(cairn.ProgramError, "copy"):
            m.again([1])
        other = self.compiled()
        m = self.compiled(back=lambda x: other.structures(x))
        self.assertEqual(m.again([1]), ["list", 1])

    def test_how_many_arguments(self):
        self.assertEqual(cairn.compile("(define (f) (g 1 2))", hosts={"g": lambda a, b, c=3: a + b + c}).f(), 6)
        self.assertEqual(cairn.compile("(define (f) (g 1 2))", hosts={"g": cairn.host(max, parameters=2)}).f(), 2)
        with self.assertRaisesRegex(TypeError, "parameters="):
            cairn.compile("1", hosts={"g": lambda *a: 1})
        with self.assertRaises(cairn.CompileError):
            cairn.compile("(define (f) (g 1))", hosts={"g": lambda a, b: 1})


if __name__ == "__main__":
    unittest.main()
