"""Values go in and come out: kinds, arrays without copies, and what is refused."""
import array
import ctypes
import sys
import unittest

import numpy as np

import cairn

PROGRAM = """
(define (same x) x)
(define (twice x) (* 2 x))
(define (kind x)
  (cond ((tensor? x) 'tensor) ((vector? x) 'vector) ((pair? x) 'pair) ((null? x) 'null) ((string? x) 'string) ((symbol? x) 'symbol)
        ((char? x) 'char) ((boolean? x) 'boolean) ((number? x) (if (exact? x) 'exact 'inexact)) ((procedure? x) 'procedure) (else 'other)))
(define (type x) (tensor-type x))
(define (sizes x) (size x))
(define (total x) (sumall x))
(define (lookup d k) (dict-ref d k))
(define (made) (dict-set (dict 'b 2. 'a 1.) 'c (list 3 "x")))
(define (numbered) (dict 3 "three" 70000 "many" -1 "negative"))
(define (adder n) (lambda (x) (+ x n)))
(define (applied f x) (f x))
(define constant (fill '(2 2) 1.5))
(define (part x) (index x 0))
(define (the-constant) constant)
(define (deep n x) (if (= n 0) x (deep (- n 1) (list x))))
(define (long-list n) (iota n))
"""


class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = cairn.compile(PROGRAM)

    def test_kinds_of_values_come_back_as_they_went(self):
        for value in (3, -2**46, 2.5, True, False, None, "text ü", [], [1, [2.0, "x"]], (1, 2), (), [(1,), [()]], cairn.Symbol("s"),
                      cairn.Character("é"), cairn.Pair(1, 2), cairn.Pair([1], cairn.Pair(2, "x")), {"a": 1.0, "b": [2.0]}, {1: 2, "x": 3, cairn.Symbol("y"): 4}):
            with self.subTest(value=value):
                back = self.m.same(value)
                self.assertEqual(back, value)
                self.assertIs(type(back), type(value))

    def test_kinds_in_the_program(self):
        expected = {"exact": 3, "inexact": 2.5, "boolean": True, "string": "x", "symbol": cairn.Symbol("x"), "char": cairn.Character("x"),
                    "pair": [1], "null": [], "vector": (1,), "tensor": np.ones(2)}
        for kind, value in expected.items():
            self.assertEqual(self.m.kind(value), kind)
        self.assertEqual([self.m.kind(v) for v in (np.float32(1), np.int8(1), np.bool_(True), np.float64(1))], ["inexact", "exact", "boolean", "inexact"])

    def test_integers_beyond_48_bits_are_reals(self):
        self.assertEqual(self.m.same(2**60), float(2**60))
        self.assertEqual(self.m.same(10**30), 1e30)

    def test_dictionaries(self):
        self.assertEqual(self.m.lookup({"b": 1.0, "a": 2.0, "c": 3.0}, "a"), 2.0)
        self.assertEqual(self.m.lookup({i: float(i) for i in range(100)}, 77), 77.0)
        self.assertEqual(self.m.made(), {cairn.Symbol("a"): 1.0, cairn.Symbol("b"): 2.0, cairn.Symbol("c"): [3, "x"]})
        self.assertEqual(self.m.numbered(), {-1.0: "negative", 3: "three", 70000: "many"})
        whole = {-2**47: 1, -1: 2, 0: 3, 2**30 - 1: 4, 2**30: 5, 2**47 - 1: 6}
        back = self.m.same(whole)
        self.assertEqual(list(back.items()), list(whole.items()))
        self.assertTrue(all(type(key) is int for key in back))
        self.assertEqual([self.m.lookup(whole, key) for key in whole], list(whole.values()))
        for key in (2**47, -2**47 - 1, 10**30):
            with self.assertRaisesRegex(TypeError, f"argument 1: .*48 bits, not {key}"):
                self.m.same({key: 1})
        with self.assertRaisesRegex(TypeError, "argument 1: keys of a dict"):
            self.m.same({(1, 2): 3})

    def test_procedures_are_values_of_their_program(self):
        add = self.m.adder(3)
        self.assertEqual(add(4), 7)
        self.assertEqual(self.m.applied(add, 1), 4)
        with self.assertRaisesRegex(ValueError, "another machine"):
            self.m.copy().applied(add, 1)

    def test_long_and_deep_values(self):
        self.assertEqual(self.m.same(list(range(300000)))[-1], 299999)
        self.assertEqual(len(self.m.long_list(300000)), 300000)
        with self.assertRaises(RecursionError):
            self.m.deep(1000000, 1)
        nested = []
        for _ in range(100000):
            nested = [nested]
        with self.assertRaises(RecursionError):
            self.m.same(nested)
        circle = []
        circle.append(circle)
        with self.assertRaises(RecursionError):
            self.m.same(circle)
        self.assertEqual(self.m.same(1), 1)
        while nested:
            nested = nested[0]

    def test_what_is_no_value_is_refused_with_its_place(self):
        with self.assertRaisesRegex(TypeError, r"argument 1\[1\]\[0\]: a set is no value"):
            self.m.same([1, (set(),)])
        with self.assertRaisesRegex(TypeError, "hosts="):
            self.m.same(len)
        with self.assertRaisesRegex(TypeError, "complex"):
            self.m.same(np.complex128(1))
        with self.assertRaisesRegex(cairn.ProgramError, "argument"):
            self.m.same(1, 2)
        with self.assertRaisesRegex(TypeError, "names"):
            self.m.same(x=1)
        with self.assertRaises(AttributeError):
            self.m.nothing
        with self.assertRaisesRegex(ValueError, r"argument 1\[1\]: .*surrogate"):
            self.m.same([1, "\ud800"])
        with self.assertRaisesRegex(OverflowError, r"argument 1\[1\]: "):
            self.m.same([1, 10**400])
        for value in (np.datetime64(3, "s"), np.zeros(2, "datetime64[s]"), np.datetime64(3, "ns"), np.timedelta64(3, "ns")):
            with self.assertRaisesRegex((TypeError, ValueError), r"argument 1\[0\]: "):
                self.m.same([value])

    def test_definitions_by_name(self):
        self.assertEqual(self.m["the-constant"]().tolist(), self.m.the_constant().tolist())
        self.assertIn("the_constant", dir(self.m))
        self.assertNotIn("python/grad", list(self.m))
        self.assertIn("same", self.m)
        with self.assertRaisesRegex(TypeError, "is a str, not 3"):
            self.m[3]
        with self.assertRaisesRegex(AttributeError, "not set from outside"):
            self.m.same = 3
        self.assertEqual(self.m.same.__name__, "same")


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = cairn.compile(PROGRAM)

    def test_types_of_elements(self):
        for name, type_in_program in (("uint8", "u8"), ("int8", "i8"), ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("float32", "f32"),
                                      ("float64", "f64")):
            given = np.arange(6, dtype=name).reshape(2, 3)
            self.assertEqual(self.m.type(given), type_in_program)
            back = self.m.same(given)
            self.assertEqual(back.dtype, given.dtype)
            self.assertEqual(back.tolist(), given.tolist())
        self.assertEqual(self.m.same(np.array([True, False])).tolist(), [1, 0])
        for name in ("float16", "uint16", "uint32", "uint64", "complex64", "datetime64[s]", "U3", "O"):
            with self.assertRaises((TypeError, ValueError), msg=name):
                self.m.same(np.zeros(2, dtype=name))
        with self.assertRaisesRegex(TypeError, "float16"):
            self.m.same(np.zeros(2, dtype="float16"))

    def test_an_array_goes_in_without_a_copy(self):
        given = np.arange(1000000.0)
        before = self.m.memory["all"]
        kept = self.m.same.start(given)  # holds the argument
        self.assertLess(self.m.memory["all"] - before, 100000)
        given[3] = 42.0  # shared: what is not copied sees it
        self.assertEqual(kept.value[3], 42.0)

    def test_results_are_pythons_own(self):
        given = np.ones((3, 4))
        for back in (self.m.twice(given), self.m.same(given), self.m.part(given), self.m.the_constant()):
            self.assertTrue(back.flags.writeable)
            back[...] = 7
        self.assertEqual(given.sum(), 12)
        self.assertEqual(self.m.the_constant().tolist(), [[1.5, 1.5], [1.5, 1.5]])

    def test_a_definition_is_shared_and_read_only(self):
        self.assertFalse(self.m.constant.flags.writeable)
        with self.assertRaises(ValueError):
            self.m.constant[0] = 1

    def test_layouts(self):
        base = np.arange(24.0).reshape(2, 3, 4)
        for given in (base.T, base[:, ::2], base[:, ::-1], base[..., ::-1], np.asfortranarray(base), base.astype(">f8"), base.astype(">i2"),
                      np.broadcast_to(np.arange(3.0), (4, 3)), base[0:0], np.array(3.0), base.astype("<f4"),
                      np.lib.stride_tricks.as_strided(np.arange(9, dtype="i1").view()[1:], (2, 2), (3, 1))):
            self.assertEqual(self.m.same(given).tolist(), given.tolist())
            self.assertEqual(self.m.twice(given).tolist(), (2 * given).tolist())
        odd = np.frombuffer(b"\0" + np.arange(3.0).tobytes(), dtype="u1")[1:].view("f8")
        self.assertEqual(self.m.twice(odd).tolist(), [0.0, 2.0, 4.0])
        record = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
        record["a"] = [1, 2, 3]
        self.assertEqual(self.m.twice(record["a"]).tolist(), [2.0, 4.0, 6.0])
        with self.assertRaises(TypeError):
            self.m.same(record)
        with self.assertRaisesRegex(ValueError, "axes"):
            self.m.same(np.zeros((1,) * 9))

    def test_a_read_only_array_is_taken(self):
        given = np.ones(3)
        given.flags.writeable = False
        self.assertEqual(self.m.twice(given).tolist(), [2, 2, 2])

    def test_other_buffers(self):
        self.assertEqual(self.m.total(array.array("d", [1, 2, 3])), 6.0)
        self.assertEqual(self.m.same(b"ab").tolist(), [97, 98])
        self.assertEqual(self.m.same(memoryview(bytearray(3))).tolist(), [0, 0, 0])
        self.assertEqual(self.m.same((ctypes.c_double * 2)(1, 2)).tolist(), [1, 2])

    def test_dlpack_both_ways(self):
        class Exported:
            """Nothing but DLPack."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        given = np.arange(6.0).reshape(2, 3)
        self.assertEqual(self.m.twice(Exported(given)).tolist(), (2 * given).tolist())
        self.assertEqual(self.m.twice(Exported(given.T)).tolist(), (2 * given.T).tolist())
        with self.assertRaisesRegex(TypeError, "float16"):
            self.m.twice(Exported(given.astype("float16")))

        class Elsewhere(Exported):
            def __dlpack_device__(self):
                return (2, 0)

        with self.assertRaisesRegex(ValueError, "another device"):
            self.m.twice(Elsewhere(given))
        half = cairn.compile("(define (half x) (cast x 'bf16))").half(np.array([1.0, 2.5]))
        self.assertEqual((half.shape, half.dtype), ((2,), "bfloat16"))
        self.assertEqual(half.__dlpack_device__(), (1, 0))
        self.assertEqual(self.m.total(half), 3.5)

    def test_capsules_are_looked_at(self):
        class Exported:
            """A capsule whose struct is another than that of the array."""

            def __init__(self, array, device=(1, 0), **fields):
                self.array, self.device, self.fields = array, device, fields

            def __dlpack__(self):
                capsule = self.array.__dlpack__()
                get = ctypes.pythonapi.PyCapsule_GetPointer
                get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
                tensor = Tensor.from_address(get(capsule, b"dltensor"))
                for name, value in self.fields.items():
                    if isinstance(value, list):
                        for i, item in enumerate(value):
                            getattr(tensor, name)[i] = item
                    else:
                        setattr(tensor, name, value)
                return capsule

            def __dlpack_device__(self):
                return self.device

        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int), ("number", ctypes.c_int), ("ndim", ctypes.c_int), ("code", ctypes.c_uint8),
                        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]

        given = np.arange(1.0, 7.0).reshape(2, 3)
        self.assertEqual(self.m.same(Exported(given)).tolist(), given.tolist())
        with self.assertRaisesRegex(ValueError, r"argument 1\[0\]: the array is on another device \(DLPack's 2:1\)"):
            self.m.same([Exported(given, kind=2, number=1)])
        for device in ("abc", None, (1,), ("cpu", 0), [1, 0]):
            with self.assertRaisesRegex(TypeError, r"argument 1\[0\]: __dlpack_device__ of an Exported.*two integers"):
                self.m.same([Exported(given, device)])
        backwards = Exported(given, data=given[:, 2:].ctypes.data, strides=[3, -1])
        self.assertEqual(self.m.same(backwards).tolist(), given[:, ::-1].tolist())
        self.assertEqual(cairn.compile(PROGRAM, device="emulated").twice(backwards).tolist(), (2 * given[:, ::-1]).tolist())
        unaligned = np.zeros(49, dtype="u1")
        unaligned[1:] = given.ravel().view("u1")
        self.assertEqual(self.m.same(Exported(given, data=unaligned[1:].ctypes.data)).tolist(), given.tolist())
        for fields, told in (({"shape": [2, -1]}, "size along axis 1 is -1"), ({"shape": [2**40, 2**40]}, "sizes up to axis 1"),
                             ({"ndim": -1}, "-1 axes"), ({"ndim": 9}, "9 axes"), ({"data": None}, "without elements")):
            with self.assertRaisesRegex(ValueError, r"argument 1\[0\]: .*" + told):
                self.m.same([Exported(given, **fields)])
        with self.assertRaisesRegex(TypeError, "argument 1: a masked array"):
            self.m.same(np.ma.masked_array([1.0, 2.0], mask=[True, False]))

    def test_what_dlpack_asks_for(self):
        m = cairn.compile("(define w (fill '(3) 1.))\n(define (made) (fill '(3) 2.))\n(define (half) (cast (fill '(3) 2.) 'bf16))")
        half = m.half()
        for options, name in (({}, "dltensor"), ({"max_version": None}, "dltensor"), ({"max_version": (0, 8)}, "dltensor"),
                              ({"max_version": (1, 0)}, "dltensor_versioned"), ({"max_version": (1, 3), "dl_device": (1, 0), "copy": True}, "dltensor_versioned")):
            self.assertIn(f'"{name}"', repr(half.__dlpack__(**options)))  # and is released
        with self.assertRaisesRegex(BufferError, "not copied to"):
            half.__dlpack__(dl_device=(2, 0))
        for wrong in ({"max_version": 1}, {"dl_device": "cpu"}, {"max_version": (1, 0, 0)}, {"anything": 1}):
            with self.assertRaises(TypeError):
                half.__dlpack__(**wrong)
        with self.assertRaises(ValueError):
            half.__dlpack__(stream=1)
        if hasattr(np, "from_dlpack"):
            result, constant = m.made(), m.w
            np.from_dlpack(result.base.obj)[0] = 5
            np.from_dlpack(constant.base.obj, **({"copy": True} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}))
            self.assertEqual((result.tolist(), m.w.tolist()), ([5, 2, 2], [1, 1, 1]))

    def test_a_tuple_that_would_be_a_dictionary_is_refused(self):
        C, P = cairn.Character, cairn.Pair
        for first in (C("\u0102"), C("\u5000"), P(C("\u0102"), C("\u0100"))):
            with self.assertRaisesRegex(ValueError, "argument 1.*take for a dictionary"):
                self.m.same((first, [], "key", 1, []))
        for other in ((C("a"), [], "key", 1, []), (C("\u0102"), [], "key", 1), (C("\u0102"), 2, "key", 1, []), ("\u0102", [], "key", 1, [])):
            self.assertEqual(self.m.same(other), other)

    def test_an_array_outlives_its_module(self):
        made = cairn.compile("(define (made) (fill '(1000) 2.5))").made()
        self.assertEqual(made.sum(), 2500.0)

    def test_memory_goes_back(self):
        import gc

        m = cairn.compile(PROGRAM)
        given = np.ones(100000)
        references = sys.getrefcount(given)
        held = m.twice(given)
        view = held[::2]
        self.assertGreater(m.memory["tensors"], 700000)
        del held
        gc.collect()
        self.assertGreater(m.memory["tensors"], 700000)
        del view
        gc.collect()
        self.assertLess(m.memory["tensors"], 100000)
        self.assertEqual(sys.getrefcount(given), references)


if __name__ == "__main__":
    unittest.main()
