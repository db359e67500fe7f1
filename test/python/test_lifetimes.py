"""Nothing leaks and nothing crashes: counts of objects, reference cycles, forks, the end of the interpreter, other libraries around it."""
import gc
import os
import subprocess
import sys
import textwrap
import unittest
import weakref

import numpy as np

import cairn

PROGRAM = """
(define (f x) (* x x))
(define (g x) (list x (vector x "text" 'symbol) (lambda (y) (+ x y))))
(define (h t) (list (* 2 t) t (index t 0)))
(define (bad x) (car x))
(define (long n) (if (= n 0) 0 (long (- n 1))))
"""


def python(text, *, status=0):
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120)
    if done.returncode != status:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}")
    return done.stdout


class Leaks(unittest.TestCase):
    def growth(self, action, times):
        """Objects of the interpreter's, and blocks of its memory, that so many repetitions leave: the least of some rounds, as caches fill up."""
        for _ in range(20):
            action()
        least = times
        for _ in range(4):
            gc.collect()
            objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
            for _ in range(times):
                action()
            gc.collect()
            least = min(least, max(len(gc.get_objects()) - objects, sys.getallocatedblocks() - blocks))
        return least

    def check(self, action, times=600):
        if os.environ.get("CAIRN_SANITIZED"):  # which look at each access; what is left is counted where a call takes a twentieth of the time
            for _ in range(20):
                action()
            gc.collect()
            return
        self.assertLess(self.growth(action, times), times // 4)

    def test_calls(self):
        m = cairn.compile(PROGRAM)
        x = np.ones(100)
        self.check(lambda: m.f(3.0))
        self.check(lambda: m.g([1.5, "x", {"k": (1,)}]))
        self.check(lambda: m.h(x))
        self.check(lambda: cairn.grad(m.f)(2.0))
        before = m.memory["all"]
        for _ in range(100):
            m.h(x)
            m.g(x)
        gc.collect()
        self.assertLess(m.memory["all"] - before, 20000)

    def test_errors(self):
        m = cairn.compile(PROGRAM)

        def fails():
            for action in (lambda: m.bad(3), lambda: m.f("x"), lambda: m.f(1, 2), lambda: m.g([1, {2: set()}]), lambda: cairn.compile("(define (f"),
                           lambda: m.h(np.zeros(2, "c8")), lambda: m.missing):
                try:
                    action()
                except (cairn.Error, TypeError, AttributeError):
                    continue
                raise AssertionError

        self.check(fails)

    def test_machines_and_runs(self):
        def machines():
            m = cairn.compile(PROGRAM, output=[].append)
            run = m.long.start(1000).resume(steps=10)
            m.f(2)
            run.resume(steps=10)

        self.check(machines, 200)

    def test_generators_left_half_way(self):
        m = cairn.compile(PROGRAM)
        x = np.ones(1000)
        references = sys.getrefcount(x)

        def stepping(array):
            run = m.long.start(1000)
            other = m.h.start(array)
            yield from run.slices(steps=10)
            other.resume()

        def left():
            generator = stepping(x)
            next(generator), next(generator)
            del generator  # closed by its last reference
            generator = stepping(x)
            next(generator)
            try:
                generator.throw(KeyError())
            except KeyError:
                pass
            for _ in stepping(x):
                break
            m.f(2)

        self.check(left, 200)
        circle = [stepping(x)]
        circle.append(circle)
        next(circle[0])
        del circle
        gc.collect()
        m.f(2)
        self.assertEqual(sys.getrefcount(x), references)

    def test_generators_as_arguments(self):
        m = cairn.compile(PROGRAM, output=[].append)
        ended = []

        def numbers():
            try:
                yield 1
                yield 2
            finally:
                ended.append(True)

        def refused():
            ended.clear()
            given = numbers()
            next(given)
            with self.assertRaisesRegex(TypeError, "argument 1: a generator is no value"):
                m.f(given)
            with self.assertRaisesRegex(TypeError, r"argument 1\[0\]: a generator"):
                m.f([given])
            self.assertEqual(next(given), 2)
            del given
            self.assertEqual(ended, [True])

        self.check(refused, 200)

        def read():
            reader = cairn.compile("(define (f) (read-real))", input=(f"{n}\n" for n in (1, 2, 3)))
            self.assertEqual((reader.f(), reader.f()), (1, 2))
            hosted = cairn.compile("(define (f) (+ (n) (n)))", hosts={"n": cairn.host(iter([1, 2, 3]).__next__, parameters=0)})
            self.assertEqual(hosted.f(), 3)
            with self.assertRaises(cairn.ProgramError) as raised:
                hosted.f()
            self.assertIsInstance(raised.exception.__cause__, StopIteration)

        self.check(read, 100)

    def test_functions_and_gradients_of_frameworks(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        layer = cairn.torch.function(cairn.compile("(define (f x) (* x (sin x)))").f)
        x = torch.ones(3, requires_grad=True)

        def trained():
            layer(x).sum().backward()
            x.grad = None
            value = layer(x)  # whose gradient nobody asks for
            torch.func.vmap(torch.func.grad(lambda x: layer(x)))(torch.ones(3))
            del value

        self.check(trained, 100)

    def test_hosts(self):
        def hosts():
            m = cairn.compile("(define (f x) (d x))\n(define (e x) (bad x))", hosts={"d": lambda x: [x, np.ones(3)], "bad": lambda x: 1 / x})
            m.f(np.ones(4))
            try:
                m.e(0)
            except cairn.ProgramError:
                pass

        self.check(hosts, 200)

    def test_reference_cycles_are_collected(self):
        class Owner:
            def __init__(self):
                self.m = cairn.compile("(define (f x) (d x))\n(define (held) f)", hosts={"d": self.double}, output=self.write)
                self.f = self.m.f
                self.run = self.m.f.start(2)
                self.m.f.owner = self

            def double(self, x):
                return 2 * x

            def write(self, text):
                pass

        owner = Owner()
        self.assertEqual(owner.f(3), 6)
        gone = weakref.ref(owner), weakref.ref(owner.m._machine)
        del owner
        gc.collect()
        self.assertEqual([reference() for reference in gone], [None, None])


class Hostile(unittest.TestCase):
    def test_types_that_a_program_alone_makes(self):
        for kind in (cairn.Procedure, cairn.Array):
            for make in (kind, lambda: kind.__new__(kind), lambda: object.__new__(kind)):
                with self.assertRaises(TypeError):
                    make()
        machine = cairn._cairn.Machine.__new__(cairn._cairn.Machine)
        with self.assertRaises(RuntimeError):
            machine.memory()
        self.assertFalse(machine.cancel(None))
        with self.assertRaisesRegex(TypeError, "`memroy`"):
            machine.__init__(memroy=3)

    def test_a_list_that_changes_while_it_is_converted(self):
        class Clearing:
            def __init__(self, items):
                self.items = items

            def __float__(self):
                self.items.clear()
                return 1.0

        def rule(arguments, result, cotangent):
            items = [None, cotangent]
            items[0] = Clearing(items)
            return items

        m = cairn.compile("(define (f a b) (sumall (h a b)))", hosts={"h": cairn.host(lambda a, b: a + b, reverse=rule)})
        with self.assertRaisesRegex(cairn.ProgramError, "changed meanwhile"):
            cairn.grad(m.f, (0, 1))(np.ones(2), np.ones(2))
        items = [None, 2.0]
        items[0] = Clearing(items)
        self.assertEqual(cairn.compile("(define (f x) x)").f(items), [1.0])

    def test_keys_that_have_an_order_of_their_own(self):
        class Key(str):
            def __lt__(self, other):
                return True

        keys = [str(i) for i in range(200)]
        m = cairn.compile("(define (f x) x)")
        self.assertEqual(m.f({Key(k): i for i, k in enumerate(keys)}), {k: i for i, k in enumerate(keys)})

    def test_pairs_that_have_not_two_parts(self):
        with self.assertRaisesRegex(ValueError, "two parts"):
            cairn.compile("(define (f x) x)").f(tuple.__new__(cairn.Pair, ()))

    def test_nesting_beyond_the_stack(self):
        deep, wrapped = [], []
        for _ in range(100_000):
            deep, wrapped = [deep], {"k": wrapped}
        m = cairn.compile("(define (f x) 0)\n(define (g n) (let loop ((n n) (x '())) (if (= n 0) x (loop (- n 1) (vector x)))))")
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(10**6)
        try:
            for call in (lambda: m.f(deep), lambda: m.f(wrapped), lambda: m.g(100_000)):
                with self.assertRaisesRegex(RecursionError, "nested more than 2000 deep"):
                    call()
            self.assertEqual(m.g(3), (((([],),),)))
        finally:
            sys.setrecursionlimit(before)
            while deep:
                deep = deep.pop()
            while wrapped:
                wrapped = wrapped.pop("k")

    def test_arguments_that_are_refused_leave_nothing_in_the_machine(self):
        m = cairn.compile("(define (make n) (let ((x (fill (list n) 1.))) (lambda (y) x)))\n(define (f) 0)")
        before = m.memory["tensors"]
        for call in (lambda f: f(set()), lambda f: f.start(set())):
            for _ in range(20):
                with self.assertRaises(TypeError):
                    call(m.make(100_000))
        gc.collect()
        m.f()
        self.assertLess(m.memory["tensors"] - before, 1_000_000)


class Processes(unittest.TestCase):
    def test_a_fork(self):
        told = python("""
            import os, sys, warnings
            warnings.simplefilter("ignore")
            import numpy as np
            import cairn
            m = cairn.compile("(define (f x) (* 2 x))\\n(define (big) (sumall (matmul (fill '(600 600) 1.) (fill '(600 600) 1.))))\\n(define (long n) (if (= n 0) 0 (long (- n 1))))")
            m.big()
            run = m.long.start(1000).resume(steps=10)
            array = m.f(np.ones(1000))
            child = os.fork()
            if child == 0:
                for action in (lambda: m.f(1), lambda: m.long.start(1), lambda: m.copy() and m.f(1)):
                    try:
                        action()
                    except RuntimeError as error:
                        assert "fork" in str(error), error
                    else:
                        os._exit(1)
                assert run.value == 0  # a capsule
                del run
                assert array.sum() == 2000
                del array, m
                fresh = cairn.compile("(define (big) (sumall (matmul (fill '(600 600) 1.) (fill '(600 600) 1.))))\\n(define (long n) (if (= n 0) 0 (long (- n 1))))")
                assert fresh.big() == 216000000
                fresh.long(30000000)
                sys.exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            print(m.f(4), run.value)
            """)
        self.assertEqual(told, "8 0\n")

    def test_the_end_of_the_interpreter(self):
        python("""
            import numpy as np
            import cairn
            m = cairn.compile("(define (f x) (* 2 x))\\n(define (long n) (if (= n 0) 0 (long (- n 1))))")
            array, run, gradient = m.f(np.ones(10)), m.long.start(100), cairn.grad(m.f)
            m.long(30000000)
            class Late:
                def __del__(self):
                    m.f(3)
            late = Late()
            """)
        python("""
            import threading, time
            import cairn
            m = cairn.compile("(define (long n) (if (= n 0) 0 (long (- n 1))))")
            threading.Thread(target=lambda: m.long(10**11), daemon=True).start()
            time.sleep(.2)
            """)
        python("""
            import cairn
            m = cairn.compile("(define (long n) (if (= n 0) 0 (long (- n 1))))")
            run = m.long.start(1000)
            def stepping():
                try:
                    yield from run.slices(steps=10)
                finally:
                    m.long(3)
            generator = stepping()
            next(generator)
            other = m.long.start(1000).slices(steps=10)
            next(other)
            """)
        python("""
            import threading, time
            import cairn
            def wait():
                time.sleep(5)
                return 1
            m = cairn.compile("(define (f) (wait))\\n(define (pieces n) (if (= n 0) 0 (begin (display n) (pieces (- n 1)))))", hosts={"wait": wait}, output=lambda text: None)
            for call in (m.f, lambda: m.copy().pieces(10**9), lambda: m.f()):
                threading.Thread(target=call, daemon=True).start()
            time.sleep(.2)
            """)
        self.assertEqual(python("""
            import sys
            import cairn
            m = cairn.compile("(define (f) (leave))", hosts={"leave": lambda: sys.exit(5)})
            m.f()
            """, status=5), "")

    def test_other_libraries_before_and_after(self):
        for order in (("cairn", "numpy", "torch", "jax"), ("torch", "jax", "numpy", "cairn")):
            imports = "\n".join(f"try:\n    import {name}\nexcept ImportError:\n    pass" for name in order)
            program = textwrap.dedent("""
                import sys
                import numpy as np
                m = cairn.compile("(define (f x) (matmul x x))\\n(define (long n) (if (= n 0) 0 (long (- n 1))))")
                a = np.ones((500, 500))
                for _ in range(3):
                    assert (m.f(a) == 500).all() and (a @ a == 500).all()
                    if "torch" in sys.modules:
                        t = sys.modules["torch"].ones(500, 500)
                        assert (t @ t == 500).all()
                    if "jax" in sys.modules:
                        j = sys.modules["jax"].numpy.ones((500, 500))
                        assert (j @ j == 500).all()
                m.long(20000000)
                print("done")
                """)
            self.assertEqual(python(imports + program), "done\n")

    def test_it_brings_no_allocator(self):
        with open(f"/proc/{os.getpid()}/maps", encoding="utf-8") as file:
            self.assertNotIn("mimalloc", file.read())
        with open(cairn._cairn.__file__, "rb") as file:
            self.assertNotIn(b"libmimalloc", file.read())


if __name__ == "__main__":
    unittest.main()
