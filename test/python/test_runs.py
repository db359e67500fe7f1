"""Runs that stop and go on: budgets, signals, cancellations, capsules, threads."""
import contextlib
import importlib.util
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock

import numpy as np

import cairn

PROGRAM = """
(define (count n x) (if (= n 0) x (count (- n 1) (+ x 1.))))
(define (product n) (sumall (matmul (fill (list n n) 1.) (fill (list n n) 1.))))
(define (products n k) (if (= k 0) 0 (+ (product n) (products n (- k 1)))))
(define (walk n x) (if (= n 0) x (walk (- n 1) (+ x (random-normal)))))
(define (summed n x) (if (= n 0) (sumall x) (summed (- n 1) (+ x 1))))
(define (smooth n x) (if (= n 0) x (smooth (- n 1) (+ x (* .001 (sin x))))))
(define (square x) (* x x))
(define (vectors n) (if (= n 0) 0 (begin (make-vector 100 n) (vectors (- n 1)))))
(define (noisy n) (if (= n 0) 0 (begin (display n) (noisy (- n 1)))))
"""


def later(seconds, action):
    thread = threading.Timer(seconds, action)
    thread.start()
    return thread


def interrupt_after(seconds, machine):
    """Ctrl-C, so long after the machine has begun to be used."""

    def wait():
        while not machine.busy:
            time.sleep(0.0002)
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait).start()


class Budgets(unittest.TestCase):
    def setUp(self):
        self.m = cairn.compile(PROGRAM)

    def test_steps(self):
        run = self.m.count.start(1000, 0.0)
        self.assertFalse(run.done)
        self.assertEqual(run.steps, 0)
        self.assertIs(run.resume(steps=100), run)
        self.assertEqual((run.steps, run.progress.steps), (100, 100))
        self.assertIn("stopped: after", run.where)
        self.assertIn("count", run.where)
        self.assertEqual(run.progress.phase, "plain")
        slices = 0
        while not run.resume(steps=100).done:
            slices += 1
        self.assertGreater(slices, 10)
        self.assertEqual(run.value, 1000.0)
        self.assertEqual(run.resume().value, 1000.0)
        for question in (lambda: run.steps, lambda: run.progress, lambda: run.where, lambda: run.capsule):
            with self.assertRaisesRegex(RuntimeError, "has ended.*`value`"):
                question()

    def test_budgets_that_are_none(self):
        run = self.m.count.start(1000, 0.0)
        for name, wrong, error in (("steps", -1, ValueError), ("work", -1, ValueError), ("steps", 2**64, ValueError), ("steps", 1.5, TypeError), ("work", True, TypeError)):
            with self.assertRaisesRegex(error, f"{name}: expected an int"):
                run.resume(**{name: wrong})
        self.assertEqual(run.value, 1000.0)

    def test_work(self):
        run = self.m.products.start(100, 10)
        run.resume(work=0)
        self.assertFalse(run.done)
        resumed = 0
        while not run.resume(work=3_000_000).done:
            resumed += 1
        self.assertGreater(resumed, 3)
        self.assertEqual(run.value, 1e7)

    def test_other_calls_may_come_between(self):
        run = self.m.walk.start(1000, 0.0).resume(steps=1234)
        whole = self.m.copy().walk(1000, 0.0)
        self.assertEqual(self.m.square(3), 9)
        second = self.m.count.start(10, 0.0).resume(steps=5)
        self.assertEqual(run.value, whole)
        self.assertEqual(second.value, 10.0)

    def test_a_gradient_is_a_run_too(self):
        gradient = cairn.grad(self.m.smooth, 1, checkpoint="binomial,snapshots=4")
        whole = gradient(20000, 1.0)
        run = gradient.start(20000, 1.0)
        phases = set()
        while not run.resume(steps=10000).done:
            phases.add(run.progress.phase)
        self.assertEqual(run.value, whole)
        self.assertEqual(phases, {"forward", "backward"})

    def test_a_run_that_fails(self):
        run = cairn.compile("(define (f n) (if (= n 0) (car 1) (f (- n 1))))").f.start(1000)
        run.resume(steps=50)
        with self.assertRaises(cairn.ProgramError):
            run.resume()
        with self.assertRaises(cairn.ProgramError):
            run.value

    def test_progress_within_a_budget_of_work(self):
        def stopped(**options):
            run = self.m.vectors.start(10**7)
            before = run.steps
            self.assertFalse(run.resume(work=200_000_000, **options).done)
            return run.steps - before

        seen = []
        self.assertEqual(stopped(progress=seen.append), stopped())
        self.assertGreater(len(seen), 1)

    def test_progress_that_calls_the_program(self):
        run = self.m.count.start(1_000_000, 0.0)
        squares = []
        self.assertEqual(run.resume(progress=lambda now: squares.append(self.m.square(3))).value, 1e6)
        self.assertGreater(len(squares), 1)
        self.assertEqual(set(squares), {9})

    def test_progress_that_raises_loses_nothing(self):
        def show(now):
            raise KeyError

        for length in (1_000_000, 10):  # in the middle, and when it has ended
            run = self.m.count.start(length, 0.0)
            with self.assertRaises(KeyError):
                run.resume(progress=show)
            self.assertEqual(run.value, float(length))

    def test_progress(self):
        seen = []
        run = self.m.count.start(1_000_000, 0.0)
        run.resume(progress=seen.append)
        self.assertEqual(run.value, 1e6)
        self.assertGreater(len(seen), 1)
        self.assertEqual([p.steps for p in seen], sorted(p.steps for p in seen))
        self.assertFalse(self.m.count.start(1_000_000, 0.0).resume(steps=500_000, progress=seen.append).done)

    def test_slices(self):
        run = self.m.count.start(1000, 0.0)
        seen = []
        for progress in run.slices(steps=100):
            seen.append(progress.steps)
            if len(seen) == 5:
                break
        self.assertEqual([b - a for a, b in zip(seen, seen[1:])], [100] * 4)
        self.assertEqual(self.m.square(3), 9)
        self.assertGreater(len(list(run.slices(steps=100))), 5)
        self.assertEqual((run.done, run.value), (True, 1000.0))
        self.assertEqual(list(run.slices(steps=100)), [])
        self.assertGreater(len(list(self.m.products.start(100, 10).slices(work=3_000_000))), 2)
        with self.assertRaisesRegex(ValueError, "steps="):
            run.slices()

    def bar(self):
        gradient = cairn.grad(self.m.smooth, 1, checkpoint="bisection")
        run = gradient.start(200_000, 1.0)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            run.resume(progress=True)
        self.assertTrue(run.done)
        return shown.getvalue()

    def test_progress_by_a_bar_where_tqdm_is(self):
        if importlib.util.find_spec("tqdm") is None:
            self.skipTest("tqdm is not installed")
        self.assertRegex(self.bar(), r"(?s)forward.*backward")

    def test_progress_by_nothing_where_it_is_not(self):
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            self.assertEqual(self.bar(), "")


class Capsules(unittest.TestCase):
    def setUp(self):
        self.m = cairn.compile(PROGRAM, seed=7)

    def test_runs_pickle(self):
        run = self.m.walk.start(5000, 0.0).resume(steps=12345)
        copies = [pickle.loads(pickle.dumps(run)) for _ in range(2)]
        self.assertEqual({c.value for c in copies}, {run.value})
        self.assertEqual(pickle.loads(pickle.dumps(run)).value, run.value)

    def test_arrays_go_along(self):
        x = np.arange(1000.0)
        run = self.m.summed.start(1000, x).resume(steps=500)
        kept = pickle.dumps(run)
        del run
        self.assertEqual(pickle.loads(kept).value, x.sum() + 1e6)

    def test_steps_are_those_of_the_run(self):
        self.m.count(1000, 0.0)
        run = self.m.walk.start(5000, 0.0).resume(steps=100)
        self.m.count(1000, 0.0)  # puts it away
        self.assertEqual(run.resume(steps=50).steps, 150)
        again = pickle.loads(pickle.dumps(run))
        self.assertEqual((again.steps, again.resume(steps=10).steps), (150, 160))
        with self.assertRaises(cairn.CancelledError) as raised:
            self.m.cancel()
            self.m.walk(5000, 0.0)
        self.assertLess(raised.exception.run.steps, 10)

    def test_into_another_process(self):
        run = self.m.walk.start(5000, 0.0).resume(steps=12345)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run")
            with open(path, "wb") as file:
                pickle.dump(run, file)
            told = subprocess.run([sys.executable, "-c", "import pickle, sys; print(repr(pickle.load(open(sys.argv[1], 'rb')).value))", path],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(float(told), run.value)

    def test_bytes_that_are_no_capsule(self):
        run = self.m.walk.start(5000, 0.0).resume(steps=12345)
        state = run.__getstate__()
        for capsule in (b"", b"nonsense", state["capsule"][:-1], state["capsule"][:100] + b"x" + state["capsule"][101:]):
            damaged = cairn.Run.__new__(cairn.Run)
            damaged.__setstate__({**state, "capsule": capsule})
            with self.assertRaises(cairn.CapsuleError):
                damaged.resume()

    def test_output_is_not_repeated(self):
        pieces = []
        m = cairn.compile(PROGRAM, output=pieces.append)
        run = m.noisy.start(20)
        while not run.resume(steps=7).done:
            m.square(2)  # puts the run away
        self.assertEqual("".join(pieces), "".join(str(n) for n in range(20, 0, -1)))


class Signals(unittest.TestCase):
    def setUp(self):
        self.m = cairn.compile(PROGRAM)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def stopped(self, call, seconds, machine=None):
        interrupt_after(seconds, machine or self.m._machine)
        with self.assertRaises(KeyboardInterrupt) as raised:
            call()
        return raised.exception.run

    def test_ctrl_c_keeps_the_run(self):
        for seconds in (0.002, 0.3):
            run = self.stopped(lambda: self.m.count(2 * 10**9, 0.0), seconds)
            self.assertFalse(run.done)
            before = run.steps
            self.assertEqual(run.resume(steps=10).steps, before + 10)
            self.assertEqual(self.m.square(3), 9)

    def test_ctrl_c_in_the_middle_of_one_long_step(self):
        run = self.stopped(lambda: self.m.product(4000), 0.05)
        self.assertEqual(run.value, 4000.0**3)

    def test_signals_in_the_middle_of_kernels_leave_memory_alone(self):
        # Where handlers ran in threads that multiply, three processes in five ended by a signal of malloc's.
        program = textwrap.dedent("""
            import os, signal, threading, time
            import cairn
            m = cairn.compile("(define (product n) (sumall (matmul (fill (list n n) 1.) (fill (list n n) 1.))))")
            def interrupt(seconds):
                while not m._machine.busy:
                    time.sleep(.0002)
                time.sleep(seconds)
                os.kill(os.getpid(), signal.SIGINT)
            for i in range(20):
                threading.Thread(target=interrupt, args=(.04 + .005 * i,)).start()
                try:
                    m.product(6000)
                except KeyboardInterrupt:
                    pass
            """)
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_signals_reach_python_meanwhile(self):
        seen = []
        before = signal.signal(signal.SIGUSR2, lambda *_: seen.append(threading.get_ident()))
        m = cairn.compile("(define (f n) (if (= n 0) 0 (begin (pause) (f (- n 1)))))", hosts={"pause": lambda: signal.raise_signal(signal.SIGUSR2)})
        try:
            m.f(3)
        finally:
            signal.signal(signal.SIGUSR2, before)
        self.assertEqual(seen, [threading.get_ident()] * 3)
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, []), set())

    def test_a_run_that_was_stopped_is_resumed_and_stopped_again(self):
        run = self.m.count.start(10**10, 0.0)
        for _ in range(3):
            self.assertIs(self.stopped(run.resume, 0.1, run._machine), run)

    def test_a_handler_that_returns_does_not_stop_it(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
        try:
            later(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            while not seen:
                self.assertEqual(self.m.count(10_000_000, 0.0), 1e7)
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(len(seen), 1)

    def test_a_handler_may_raise_what_it_likes(self):
        class TooLong(Exception):
            pass

        def ring(*_):
            raise TooLong

        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaises(TooLong) as raised:
                self.m.count(10**10, 0.0)
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertFalse(raised.exception.run.done)

    def test_handlers_are_left_as_they_were(self):
        before = signal.getsignal(signal.SIGINT)
        self.m.count(30_000_000, 0.0)
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)

    def test_while_arguments_are_handed_over(self):
        # Handlers raise where a signal is looked at: were that after the call, the run would have been begun.
        class Enough(Exception):
            pass

        def ring(*_):
            raise Enough

        calls = []
        m = cairn.compile("(define (f x) (begin (called) 1))", hosts={"called": lambda: calls.append(1)})
        before = signal.signal(signal.SIGALRM, ring)
        n = 1_000_000
        try:
            for x in ([float(i) for i in range(3 * n)], [[i] for i in range(n)], tuple((i,) for i in range(n)), {f"{i}": i for i in range(n // 4)}):
                calls.clear()
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                with self.assertRaises(Enough):
                    m.f(x)
                self.assertEqual(calls, [])
                self.assertEqual(m.f(x), 1)  # what was made meanwhile is given back first
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_while_it_compiles_and_runs_for_the_first_time(self):
        with self.assertRaises(KeyboardInterrupt):
            later(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
            cairn.compile("(define (f n) (if (= n 0) 0 (f (- n 1))))\n(f 10000000000)")


class Threads(unittest.TestCase):
    def setUp(self):
        self.m = cairn.compile(PROGRAM)

    def run_all(self, calls):
        results, threads = {}, []
        for i, call in enumerate(calls):
            threads.append(threading.Thread(target=lambda i=i, call=call: results.__setitem__(i, call())))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [results[i] for i in range(len(calls))]

    def test_one_module_serves_several_threads_in_turns(self):
        self.assertEqual(self.run_all([lambda i=i: [self.m.count(1000 + i, 0.0) for _ in range(200)] for i in range(8)]),
                         [[1000.0 + i] * 200 for i in range(8)])

    def test_a_run_keeps_its_machine_until_it_has_its_value(self):
        def calls():
            for _ in range(300):
                self.m.count(20, 0.0)
            return True

        def runs():
            return [self.m.count.start(50 + i % 7, 0.0).resume(steps=i).value for i in range(300)]

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            found = self.run_all([calls, calls, runs, runs])
        finally:
            sys.setswitchinterval(before)
        self.assertEqual(found, [True, True] + [[50.0 + i % 7 for i in range(300)]] * 2)

    def test_several_threads_want_one_value(self):
        for _ in range(20):
            run = self.m.count.start(1000, 0.0)
            self.assertEqual(self.run_all([lambda: run.value, lambda: self.m.square(3), lambda: run.value, lambda: run.value]), [1000.0, 9, 1000.0, 1000.0])

    def test_python_goes_on_while_a_state_is_saved_and_restored(self):
        m = cairn.compile("(define (long n l) (if (= n 0) (length l) (long (- n 1) l)))\n(define (h) 3)")
        run = m.long.start(10**6, list(range(1_000_000)))
        run.resume(steps=1000)
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # so another thread has its turn only where the GIL is let go

        def meanwhile(action):
            """Whether it let others have the GIL. The thread waits for the machine to be in use, and never lets go of the GIL itself."""
            seen, asked = [], threading.Event()

            def look():
                asked.set()
                while not done:
                    seen.append(run_machine.busy)
                    time.sleep(0)

            done = []
            run_machine = run._machine or m._machine
            thread = threading.Thread(target=look)
            thread.start()
            asked.wait()
            action()
            done.append(True)
            thread.join()
            return any(seen)

        try:
            self.assertTrue(meanwhile(lambda: run.capsule))
            self.assertTrue(meanwhile(lambda: m.h()))
        finally:
            sys.setswitchinterval(before)
        self.assertEqual(run.resume(steps=10).done, False)

    def test_machines_run_at_once(self):
        copies = [self.m.copy() for _ in range(4)]
        self.assertEqual(self.run_all([lambda m=m: m.count(3_000_000, 0.0) for m in copies]), [3e6] * 4)

    def test_python_goes_on_meanwhile(self):
        ticks = []
        thread = threading.Thread(target=lambda: self.m.count(30_000_000, 0.0))
        thread.start()
        while thread.is_alive():
            ticks.append(1)
            time.sleep(0.001)
        self.assertGreater(len(ticks), 20)

    def test_cancelling_from_another_thread(self):
        later(0.1, self.m.cancel)
        with self.assertRaises(cairn.CancelledError) as raised:
            self.m.count(10**10, 0.0)
        run = raised.exception.run
        later(0.1, run.cancel)
        with self.assertRaises(cairn.CancelledError):
            run.resume()
        self.assertEqual(self.m.square(3), 9)
        later(0.1, run.cancel)
        self.assertFalse(run.done)
        with self.assertRaises(cairn.CancelledError):
            run.resume()

    def test_cancelling_a_run_that_is_put_away_leaves_other_calls_alone(self):
        run = self.m.count.start(1000, 0.0)
        self.assertEqual(self.m.square(3), 9)
        run.cancel()
        self.assertEqual(self.m.count(10_000_000, 0.0), 1e7)
        with self.assertRaises(cairn.CancelledError) as raised:
            run.resume()
        self.assertIs(raised.exception.run, run)
        self.assertEqual(run.value, 1000.0)

    def test_arrays_that_go_while_the_machine_runs(self):
        grow = cairn.compile("(define (make n) (fill (list n) 1.5))\n(define (count n x) (if (= n 0) x (count (- n 1) (+ x 1.))))")
        arrays = [grow.make(10000) for _ in range(50)]
        thread = threading.Thread(target=lambda: grow.count(20_000_000, 0.0))
        thread.start()
        while arrays:
            arrays.pop()
            time.sleep(0.0005)
        thread.join()
        self.assertLess(grow.memory["tensors"], 50000)


if __name__ == "__main__":
    unittest.main()
