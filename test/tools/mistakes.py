#!/usr/bin/env python3
"""What newcomers from PyTorch, JAX, NumPy, Python, Lua and other Schemes type first, and the line that helps each of them.

    mistakes.py --bin FOLDER
"""
import os
import re
import select
import shlex
import signal
import subprocess
import unittest

import driver
from driver import ToolTest

# What was meant, the program, options of vmrun, exit code, and texts that the message must have.
MISTAKES = [
    ("assignment, as in any other language", "(define total 0)\n(set! total (+ total 1))\n", [], 2,
     ["a.scm:2:2: error: 'set!' does not exist in Cairn: variables do not change; bind a new one with 'let' or pass it to the next round of a loop"]),
    ("a loop of Python or Lua", "(define (f n)\n  (while (< n 10) (display n)))\n", [], 2,
     ["a.scm:2:4: error: 'while' does not exist in Cairn: a loop is 'do', 'for-each' or a named 'let' that calls itself"]),
    ("jax.grad", "(define (f x) (* x x))\n(display ((grad f) 3.))\n", [], 2,
     ["a.scm:2:12: error: 'grad' does not exist in Cairn: write (gradient f x)"]),
    ("torch.relu", "(display (torch.relu (randn '(2 2))))\n", [], 2,
     ["a.scm:1:11: error: 'torch.relu' does not exist in Cairn: write (ReLU t)"]),
    ("numpy.full", "(display (np.full '(6) 0))\n", [], 2,
     ["a.scm:1:11: error: 'np.full' does not exist in Cairn: write (fill sizes x)"]),
    ("print", "(print \"hello\")\n", [], 2,
     ["a.scm:1:2: error: 'print' does not exist in Cairn: write (display x), then (newline)"]),
    ("len", "(display (len '(1 2 3)))\n", [], 2,
     ["a.scm:1:11: error: 'len' does not exist in Cairn: write (length l) of a list, (vector-length v), (string-length s) or (size t) of a tensor"]),
    ("a macro of Scheme", "(define-syntax swap! (syntax-rules () ((_ a b) a)))\n", [], 2,
     ["a.scm:1:2: error: 'define-syntax' does not exist in Cairn: there are no macros; write a procedure"]),
    ("a slip of the pen", "(define (distance a b) (abs (- a b)))\n(display (distnace 1 2))\n", [], 2,
     ["a.scm:2:11: error: unbound name 'distnace'; did you mean 'distance'?"]),
    ("a parenthesis too few", "(define (f x)\n  (* x (+ x 1))\n\n(display (f 2))\n", [], 2, ["a.scm:1:1: error: "]),
    ("an option misspelt", "(display 1)\n", ["--memroy=1GiB"], 2, ["vmrun: error: there is no option --memroy; did you mean --memory?"]),
    ("an option cut short", "(display 1)\n", ["--mem=1GiB"], 2, ["vmrun: error: there is no option --mem; did you mean --memory?"]),
    ("an end forgotten", "(define (count n)\n  (+ 1 (count (- n 1))))\n(display (count 10))\n", ["--memory=20MB"], 3,
     ["a.scm:2:8: error: memory budget of 19.1 MiB exceeded", "calls of count wait for each other's values", "does the recursion end?",
      "in count at a.scm:2:8"]),
    ("a run whose tape does not fit",
     "(define (f x) (let loop ((i 0) (x x)) (if (= i 10000000) x (loop (+ i 1) (* x 1.0000001)))))\n(display (*j f 1. 1.))\n", ["--memory=20MB"], 3,
     ["memory budget of 19.1 MiB exceeded", "checkpoint-*j takes the same operands, gives the same bits and keeps a small part of it at a time"]),
    ("a list where a number was meant, in a helper", "(define (half x) (/ x 2))\n(define (area l) (* 3 (half l)))\n(display (area '(1 2)))\n", [], 1,
     ["a.scm:1:18: error: /: expected a number, got (1 2)", "in half at a.scm:1:18", "in area at a.scm:2:23", "in the top level at a.scm:3:10"]),
    ("operands that are not as the pattern says", "(define (swap (list a b)) (list b a))\n(display (swap '(1 2 3)))\n", [], 1,
     ["a.scm:1:15: error: no pattern matches (3); are there more elements than the pattern has names?", "in swap at a.scm:1:15", "in the top level at a.scm:2:10"]),
    ("too few operands", "(define (f x y) (* x y))\n(define (g h) (+ 0 (h 2)))\n(display (g f))\n", [], 1, ["f: expected 2 arguments, got 1"]),
    ("a square root of a negative number", "(define (root x) (+ 0. (sqrt x)))\n(display (* 2 (root -2.)))\n", ["--check-nan"], 1,
     ["a.scm:1:24: error: sqrt: the result is a NaN", "in root at a.scm:1:24"]),
    ("shapes that do not fit", "(define (layer w x) (tanh (matmul w x)))\n(display (layer (fill '(3 4) 1) (fill '(5) 1)))\n", [], 1,
     ["a.scm:1:27: error: matmul: ", "in layer at a.scm:1:27"]),
    ("sizes without a quote", "(display (fill (2 3) 1.))\n", [], 1,
     ["a.scm:1:16: error: the operator is not a procedure: 2; a list of numbers is written with a quote, '(2 3), or (list 2 3)"]),
    ("a list of Python", "(display (list->tensor '(1, 2)))\n", [], 1,
     ["error: list->tensor: ", "; a comma is short for (unquote x): elements of a list are separated by spaces, '(1 2)"]),
    ("a list of Python, summed", "(display (apply + '(1, 2)))\n", [], 1,
     ["error: +: expected a number, got (unquote 2); a comma is short for (unquote x): elements of a list are separated by spaces, '(1 2)"]),
    ("torch.float64", "(display (cast (list->tensor '(1 2)) f64))\n", [], 2,
     ["a.scm:1:38: error: 'f64' does not exist in Cairn: types of elements are symbols", "write one with a quote, (cast t 'f32)"]),
    ("mse_loss with the hyphens of Scheme", "(display (mse-loss 1 2))\n", [], 2,
     ["a.scm:1:11: error: 'mse-loss' does not exist in Cairn: write (mean-squared-error a b)"]),
    ("no_grad with the hyphens of Scheme", "(display (no-grad 1))\n", [], 2,
     ["a.scm:1:11: error: 'no-grad' does not exist in Cairn: derivatives are taken of x in (gradient f x) and of nothing else"]),
    ("jax.value_and_grad", "(display (value-and-grad sin 1))\n", [], 2,
     ["a.scm:1:11: error: 'value-and-grad' does not exist in Cairn: write (*j f x 1): a pair of value and gradient"]),
    ("torch.utils.data.DataLoader", "(display (DataLoader (zeros '(4)) 2))\n", [], 2,
     ["a.scm:1:11: error: 'DataLoader' does not exist in Cairn: write (loader source batch seed); its batch n is (loader-batch l n)"]),
    ("torch.autograd.Function", "(define f (torch.autograd.Function 1))\n", [], 2,
     ["a.scm:1:12: error: 'torch.autograd.Function' does not exist in Cairn: write 'define-derivative', whose clauses are value, forward and reverse"]),
    ("torch.autograd.gradcheck", "(display (gradcheck sin 1.))\n", [], 2, ["'gradcheck' does not exist in Cairn: write (check-gradient f x)"]),
    ("requires_grad_", "(display (requires_grad_ 1))\n", [], 2, ["leave what is frozen out of it, (*j-update! f p 1 rule state) with an f of the others alone"]),
    ("logdet", "(display (logdet (eye 2)))\n", [], 2, ["'logdet' does not exist in Cairn: write (log (determinant m))"]),
    ("std, which divides by n - 1 in PyTorch", "(display (std (eye 2)))\n", [], 2, ["divided by n; (sqrt (variance t axes #f 1)) divides by n - 1"]),
    ("pack_padded_sequence", "(display (pack_padded_sequence 1))\n", [], 2, ["(index-points (car outs) (arange b 'i64) (- n 1))"]),
    ("eigh", "(display (eigh (eye 2)))\n", [], 2, ["'eigh' does not exist in Cairn: there is none; "]),
    ("jax.vmap", "(display (vmap sin '(1 2)))\n", [], 2, ["a.scm:1:11: error: 'vmap' does not exist in Cairn: operators work on tensors with further axes"]),
    ("a list where a tensor was meant", "(display (+ '(1 2) 1))\n", [], 1,
     ["a.scm:1:10: error: +: expected a number, got (1 2); (list->tensor l) makes a tensor of a list, (map f l) applies f to each element"]),
    ("sizes one by one", "(display (randn 3 4))\n", [], 1,
     ["a.scm:1:10: error: randn: expected a type of elements: one of u8 i8 i16 i32 i64 f32 f64 bf16, got 4; sizes are one operand, a list like '(3 4)"]),
    ("the length of a tensor", "(display (length (list->tensor '(1 2))))\n", [], 1,
     ["a.scm:1:10: error: length: cdr: expected a pair, got #<tensor f32 (2)>; (size t) is the list of a tensor's sizes, (tensor->list t) that of its elements"]),
    ("an axis twice", "(display (flip (fill '(2 3) 1) '(0 -2)))\n", [], 1, ["a.scm:1:10: error: flip: axis -2 is given twice"]),
    ("a million as Python writes it", "(display 1)\n", ["--steps=1e6"], 2,
     ["vmrun: error: --steps: expected a number of steps in digits, like 1000000, got \"1e6\""]),
    ("a folder that is not there", "(display 1)\n", ["--save=missing/a.capsule"], 2, ["missing/a.capsule: error: cannot be written: No such file or directory"]),
    ("a recursion through a procedure of the library", "(define (f n) (+ 1 (build-list 3 (lambda (i) (f (+ n i))))))\n(display (f 1))\n", ["--memory=20MB"], 3,
     ["calls of f, build-list wait for each other's values"]),
    ("a count in the library that is beyond all calls that are counted", "(define (f) (linspace 0 1 1e12))\n(f)\n", ["--memory=200MiB"], 3,
     ["a.scm:1:13: error: linspace: memory budget of 200.0 MiB exceeded"]),
    ("no inputs", "(import network)\n(new-attention 0)\n", [], 1, ["a.scm:2:1: error: new-attention: how many inputs and outputs a layer has are numbers above 0, got (0 0)"]),
    ("a window of one number", "(import network)\n(new-convolution 3 8 3)\n", [], 1, ["a.scm:2:1: error: new-convolution: expected a window such as '(3 3), got 3"]),
    ("no heads", "(import network)\n(attention 0 (new-attention 4) (ones '(1 2 4)))\n", [], 1, ["expected a width that is a multiple of the number of heads, got width and heads 4 0"]),
    ("tensors made by a builtin that is a value", "; tensors\n(define (many n)\n  (map ReLU (build-list n (lambda (i) (fill '(512 512) 1.)))))\n(display (length (append (many 10) (many 10))))\n", ["--memory=16MiB"], 3,
     ["tensors made by a procedure at a.scm:3:39"]),
    ("ones as a library procedure makes them", "; tensors\n(define big (build-list 40 (lambda (i) (ones '(512 512)))))\n", ["--memory=16MiB"], 3,
     ["15 tensors made by ones at a.scm:2:40"]),
    ("a reverse rule without a list", "(define-derivative (f x) (value (* x x)) (reverse (y c) (* 2 x c)))\n(display (gradient f 3.))\n", [], 1,
     ["a.scm:2:10: error: gradient: the reverse rule of f: a reverse rule gives the list of a cotangent for each parameter, such as (list c), got 6.0"]),
    ("a comparison that the machine has the other way round", "(display (> 2 'a))\n", [], 1, ["error: < or >: expected a number, got a"]),
    ("the layers first", "(display (perceptron (list 1) sin 2))\n", [], 1, ["error: perceptron: expected a list of layers, as (new-perceptron sizes) draws them"]),
    ("an index of a list", "(display (index '(1 2 3) 0))\n", [], 1, ["expected a tensor, got (1 2 3); (list->tensor l) makes a tensor of a list of numbers, (list-ref l i)"]),
    ("a type as NumPy calls it", "(display (ones '(2 2) 'float32))\n", [], 1, ["error: ones: fill: expected a type of elements: one of u8 i8 i16 i32 i64 f32 f64 bf16, got float32; write 'f32"]),
    ("classes that are floats", "(display (cross-entropy-loss (ones '(2 3)) (ones '(2))))\n", [], 1, ["indices are integers, not f32; (cast t 'i64) makes indices of them"]),
    ("classes that are one-hot", "(display (cross-entropy-loss (ones '(2 3)) (ones '(2 3))))\n", [], 1, ["probabilities, such as one-hot ones, are for soft-cross-entropy-loss"]),
    ("the operand before the parameters", "(display (linear (ones '(2 2)) (list 1 2)))\n", [], 1, ["linear: no pattern matches #<tensor f32 (2 2)>; a list was meant, such as the parameters of a layer"]),
    ("the parameters before the cell", "(display (unroll (new-lstm 2 3) lstm (ones '(1 2 2)) 0))\n", [], 1, ["it is a list: are two arguments in each other's place?"]),
    ("a position too far", "(display (index (ones '(2)) 2))\n", [], 1, ["error: index: there is no position 2 in axis 0, whose size is 2; positions are 0 to 1, or -1 to -2 from the end"]),
    ("a mask of another size", "(display (masked-select (ones '(2 3)) (ones '(2))))\n", [], 1, ["error: masked-select: expand-tensor: a tensor of shape (2) does not stretch to (2 3)"]),
    ("where one number is not 0", "(display (nonzero (fill '() 1)))\n", [], 1, ["error: nonzero: expected a tensor with axes"]),
    ("a new axis as in NumPy", "(display (index (ones '(2)) #f))\n", [], 1, ["(unsqueeze t axis) makes a new axis"]),
    ("weights that are kept", "(define w (ones '(2)))\n(define (rule leaf c s) (cons (- leaf c) '()))\n(define s (checkpoint-*j-update! sumall w 1 rule '()))\n(display w)\n", [], 1,
     ["something else holds a leaf", "; checkpoint-*j-update does the same and leaves what is held as it is"]),
    ("jax.jacfwd", "(display ((jacfwd sin) 1))\n", [], 2, ["a.scm:1:12: error: 'jacfwd' does not exist in Cairn: write (jacobian f x), which takes forward mode where"]),
    ("torch.numel", "(display (numel (zeros '(2))))\n", [], 2, ["'numel' does not exist in Cairn: write (apply * (size t))"]),
    ("ndim", "(display (ndim (zeros '(2))))\n", [], 2, ["'ndim' does not exist in Cairn: write (length (size t))"]),
    ("torch.repeat_interleave", "(display (repeat-interleave (zeros '(2)) 2))\n", [], 2, ["'repeat-interleave' does not exist in Cairn: write (index t indices)"]),
    ("count_nonzero", "(display (count-nonzero (zeros '(2))))\n", [], 2, ["'count-nonzero' does not exist in Cairn: write (sumall (not-equal t 0))"]),
    ("a training that forgets its parameters", "(define w (list (ones '(2)) 1.))\n(define (loss p) (sumall (car w)))\n(write (cadr (checkpoint-*j-update loss w 1 (sgd .1) 0)))\n", [], 0,
     ["a.scm:3:14: warning: the value that is differentiated here depends on none of the parameters"]),
    ("layers of the library that take the memory", "; tensors\n(define (deep n x)\n  (if (= n 0) (list x) (cons x (deep (- n 1) (perceptron tanh (new-perceptron '(512 512 512)) x)))))\n(deep 30 (zeros '(512 512)))\n", ["--memory=24MiB"], 3,
     ["tensors made by perceptron at a.scm:3:46", "4 tensors made by new-perceptron at a.scm:3:63"]),
    ("a budget without its unit", "(display 1)\n", ["--memory=24"], 3, ["memory budget of 24 bytes exceeded"]),
    ("threads", "(display 1)\n", ["--threads=4"], 2, ["there is no option --threads: a thread for each processor that the process may use; 'taskset -c 0-3 vmrun ...' gives it four"]),
    ("torch.nn.Linear", "(display (nn.Linear 3 4))\n", [], 2, ["write (linear p x), with p from (new-linear inputs outputs)"]),
    ("sklearn.train_test_split", "(display (train_test_split 1))\n", [], 2,
     ["write (subset source indices), with parts of (shuffled-indices n seed 0) as indices: (index order '(0 800)), (index order '(800 #f))"]),
    ("numpy.load", "(load \"x.npy\")\n", [], 2, ["; (read-npy path) and (load-parameters path like) read tensors"]),
    ("a rule where a gradient is clipped", "(clip-by-norm 1 (sgd .1))\n", [], 1,
     ["error: clip-by-norm: expected a gradient, got a procedure; a rule sees one leaf at a time: (clip-by-leaf-norm most rule), or take the gradient first and "
      "(apply-rule rule p (clip-by-norm most gradient) state)"]),
    ("what makes a rule", "(checkpoint-*j-update! (lambda (p) (* p p)) 1. 1 adam 0)\n", [], 1,
     ["expected the pair of a leaf and its state from the rule, got #<procedure>; is what makes a rule meant, as (adam .01) does?"]),
    ("a picture that is no batch", "(normalize-channels (ones '(3 8 8)) '(1 2 3) '(1 2 3))\n", [], 1, ["; a single picture goes in as (unsqueeze t 0); channels, means and deviations are 8 (1 2 3) (1 2 3)"]),
    ("a pair that is no list", "(define-values (value (cons slope offset)) (*j (lambda (m) (* (car m) (cdr m))) (cons 2. 3.) 1))\n", [], 1,
     ["error: no pattern matches 3.0; of a pair that is no list, such as (value . gradient), (define-values (a . b) pair) names the parts"]),
    ("a folder of pictures that is not there", "(plot-lines \"pics/all/a.svg\" '() '(1 2 3))\n", [], 1,
     ["pics/all/a.svg: the folder pics/all is not there; make it first (mkdir -p pics/all)"]),
    ("a function among layers", "(in-sequence (linear-layer 2 3) ReLU)\n", [], 1,
     ["error: in-sequence: expected layers, got a procedure; a layer of it is made by function-layer, as in (function-layer ReLU): #<procedure"]),
    ("a function among layers beside each other", "(in-parallel list (linear-layer 2 3) ReLU)\n", [], 1, ["error: in-parallel: expected layers, got a procedure; "]),
    ("a list of layers", "(in-sequence (list (linear-layer 2 3)))\n", [], 1, ["error: in-sequence: expected layers; of a list of them (apply in-sequence layers), got (#("]),
    ("statistics that begin as states do", "(define n (in-sequence (batch-norm-layer 2)))\n(layer-train n (layer-parameters n) 0 (ones '(2 2)))\n", [], 1,
     ["expected statistics, got 0; begin with (layer-statistics layer)"]),
    ("statistics of one layer", "(define n (batch-norm-layer 2))\n(layer-test n (layer-parameters n) 0 (ones '(2 2)))\n", [], 1,
     ["expected statistics, got 0; begin with (layer-statistics layer)"]),
    ("the cross entropy of sequences", "(cross-entropy-loss (ones '(2 3 8)) (zeros '(2 3) 'i64))\n", [], 1,
     ["indices of shape (2 3) do not go with logits of shape (2 3 8); for more axes write (view logits '(-1 8)) and (view indices '(-1))"]),
    ("the accuracy of sequences", "(accuracy (ones '(2 3 8)) (zeros '(2 3) 'i64))\n", [], 1,
     ["accuracy: expected logits of two axes, rows and classes; for more axes write (view logits '(-1 8)) and (view indices '(-1)); the sizes are (2 3 8) (2 3)"]),
    ("the perplexity of sequences", "(perplexity (ones '(2 3 8)) (zeros '(2 3) 'i64))\n", [], 1, ["; for more axes write (view logits '(-1 8)) and (view indices '(-1))"]),
    ("one path of a picture", "(picture-array \"a.png\" 8 8)\n", [], 1, ["a.scm:1:1: error: picture-array: expected paths, a list; of one file (list \"a.png\"), got \"a.png\""]),
    ("a picture without a height", "(picture-array '(\"a.png\") 0 8)\n", [], 1,
     ["a.scm:1:1: error: picture-array: height and width are integers from 1 to 32768, channels 1 or 3, got 0 8 3"]),
    ("pictures of two channels", "(picture-array '(\"a.png\") 32768 8 2)\n", [], 1, ["channels 1 or 3, got 32768 8 2"]),
    ("a seed below zero", "(loader (arange 4) 2 -1)\n", [], 1, ["a.scm:1:1: error: loader: expected an integer from 0 on as the seed of the order"]),
    ("rows by floats", "(embedding (ones '(4 3)) (ones '(2)))\n", [], 1, ["error: embedding: indices are integers, not f32; (cast t 'i64) makes indices of them"]),
    ("elements by floats", "(gather (ones '(4 3)) (ones '(4 1)) 1)\n", [], 1, ["error: gather: indices are integers, not f32; (cast t 'i64) makes indices of them"]),
    ("a picture of floats", "(write-png \"a.png\" (ones '(3 3)))\n", [], 1, ["expected a picture: a tensor of u8, as (cast (* 255 t) 'u8) makes of parts from 0 to 1"]),
    ("a picture as it is read", "(plot-image \"a.svg\" '() (ones '(4 6 3) 'u8))\n", [], 1,
     ["plot-image: expected sizes (height width) or (3 height width); of a picture as read-image gives it (/ (channels-first t) 255), got (4 6 3)"]),
    ("a symbol as the name of a series", "(plot-lines \"a.svg\" '() (cons 'loss '(1 2 3)))\n", [], 1,
     ["plot-lines: names of series are strings, (cons \"loss\" numbers), got the symbol loss"]),
    ("a type that no file has", "(raw-array \"a.scm\" 'u9)\n", [], 1, ["raw-array: expected a type of elements in a file, one of (u8 i8 i16 u16 f16 bf16 i32 u32 f32 i64 f64 i16-be", "), got u9"]),
    ("numpy.einsum of a diagonal", "(einsum \"ii->i\" (ones '(3 3)))\n", [], 1, ["einsum: a letter or ... stands twice in one term of \"ii->i\"; (diag t) takes the diagonal out of a matrix"]),
    ("groups that the call lacks", "(convolution (new-convolution 4 8 '(3 3) 2) (ones '(1 4 9 9)))\n", [], 1,
     ["weights of shape (8 2 3 3) do not go together; weights of 2 groups want them in the call, too: (convolution p x 1 0 1 2), behind strides, padding and dilation"]),
    ("a convolution of one picture", "(convolution (new-convolution 4 8 '(3 3)) (ones '(4 9 9)))\n", [], 1,
     ["weights of shape (8 4 3 3) do not go together; (unsqueeze x 0) makes a batch of one picture"]),
    ("a tensor as the cotangent of a number", "(define-derivative (f x) (value (* x x)) (reverse (y c) (list (fill '() 2.))))\n(gradient f 1.)\n", [], 1,
     ["a cotangent #<tensor f32 ()> does not have the shape of 1.0; that of a number is a number: (tensor->number t), or (sumall t) of several"]),
    ("numpy.tensordot", "(display (np.tensordot 1))\n", [], 2, ["write (einsum \"ij,jk->ik\" a b)"]),
    ("a picture that is no SVG", "(plot-lines \"p.png\" '() '(1 2 3))\n", [], 1, ["error: plot-lines: pictures are written as SVG: expected the name of a file that ends in .svg, got \"p.png\""]),
    ("a matrix as a series", "(plot-lines \"p.svg\" '() (randn '(3 3)))\n", [], 1, ["error: plot-lines: a series is a tensor of numbers [n] or of points [n, 2], got one of sizes (3 3)"]),
    ("a list that is too long", "(display (build-list 100000000 (lambda (i) i)))\n", ["--memory=20MB"], 3,
     ["a.scm:1:10: error: build-list: memory budget of 19.1 MiB exceeded", "calls of build-list wait for each other's values"]),
]


class Mistakes(ToolTest):
    def test_each_mistake_is_answered_with_what_helps(self):
        self.assertGreaterEqual(len(MISTAKES), 15)
        for name, program, options, code, said in MISTAKES:
            with self.subTest(name):
                self.write("a.scm", program)
                errors = self.vmrun(*options, "a.scm", code=code).errors
                for text in said:
                    self.assertIn(text, errors)

    def test_a_file_behind_an_option_needs_an_equals_sign(self):
        self.write("a.scm", "(display 1)\n")
        self.assertIn("as in --explain=big.html", self.tool("vmrun", "--explain", "big.html", "a.scm", code=2).errors)

    def test_hints_are_for_those_whom_they_help(self):
        self.write("a.scm", "(define (grow l) (grow (cons 1 l)))\n(grow '())\n")
        errors = self.vmrun("--memory=20MB", "a.scm", code=3).errors
        self.assertNotIn("recursion", errors)
        self.assertNotIn("checkpoint", errors)
        self.write("a.scm", "(define (even n) (if (= n 0) #t (not (odd (- n 1)))))\n(define (odd n) (if (= n 0) #f (not (even (- n 1)))))\n(display (even -1))\n")
        self.assertIn("does the recursion end?", self.vmrun("--memory=20MB", "a.scm", code=3).errors)

    def test_nan_of_numbers_are_found_where_they_begin_and_change_nothing_else(self):
        self.write("a.scm", "(define (f x)\n  (* 1. (- x x)))\n(display (f +inf.0))\n")
        self.assertIn("a.scm:2:9: error: -: the result is a NaN", self.vmrun("--check-nan", "a.scm", code=1).errors)
        self.assertEqual(self.vmrun("a.scm").output, "+nan.0")
        self.write("a.scm", "(define (f x) (sqrt (* x x)))\n(display (j* f 0. 1.))\n")
        self.assertIn("a.scm:1:15: error: sqrt: the tangent of the result is a NaN", self.vmrun("--check-nan", "a.scm", code=1).errors)
        self.write("a.scm", "(define (f x) (let loop ((i 0) (x x)) (if (= i 300) x (loop (+ i 1) (sin (* x 1.1))))))\n"
                            "(display (checkpoint-*j f 1. 1.)) (display (j* f 1. 1.)) (display (gradient f 2))\n")
        plain, watched = self.vmrun("--stats", "a.scm"), self.vmrun("--stats", "--check-nan", "a.scm")
        self.assertEqual(plain.output, watched.output)
        self.assertEqual(self.stats(plain)["steps"], self.stats(watched)["steps"])

    def test_who_holds_a_leaf_is_named(self):
        update = "(define (loss w) (sumall (* w w)))\n(define (rule leaf c state) (cons (- leaf c) '()))\n"
        self.write("a.scm", update + "(define weights (fill '(3) 1.))\n(display (*j-update! loss weights 1 rule '()))\n(display weights)\n")
        self.assertIn("something else holds a leaf of #<tensor f32 (3)", self.vmrun("a.scm", code=1).errors)
        self.assertIn(": the definition of weights", self.vmrun("a.scm", code=1).errors)
        self.write("a.scm", update + "(define (train w) (cons (*j-update! loss w 1 rule '()) w))\n(display (train (fill '(3) 1.)))\n")
        self.assertIn(": a variable of train at a.scm:3:25, which is used again", self.vmrun("a.scm", code=1).errors)

    def interrupt(self, *options, by=signal.SIGINT):
        """vmrun is sent a signal once a gradient at the start of the program has been explained."""
        running = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--explain", *options], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, bufsize=0)
        self.assertNotEqual(running.stderr.readline(), b"")
        running.send_signal(by)
        output, errors = running.communicate(timeout=300)
        return running.returncode, output.decode(), errors.decode()

    def test_an_interrupt_says_where_the_program_was_and_saves_it(self):
        turns = 300_000_000
        program = ("(define (spin i x)\n  (if (= i {0}) x (spin (+ i 1) (+ x 1))))\n(define (work n) (+ 0 (spin 0 n)))\n"
                   "(checkpoint-*j sin 1. 1.)\n(display (work 1))\n")
        self.write("a.scm", program.format(turns))
        code, output, errors = self.interrupt("--save=a.capsule", "a.scm")
        self.assertEqual(code, 130, errors)
        self.assertRegex(errors, r"(?m)^a\.scm:2:\d+: stopped: after \d+ steps$")
        self.assertIn("in spin at a.scm:2:", errors)
        self.assertIn("in work at a.scm:3:", errors)
        self.assertTrue(errors.endswith("vmrun: vmrun --resume=a.capsule goes on from here\n"), errors)
        self.assertEqual(self.vmrun("--resume=a.capsule", "--steps=1000000", code=75).output, "")
        # What is no part of the state is in the line that goes on, as it was given.
        given = ["--memory=50MiB", "--output=out 1.txt", "--metrics=m.csv", "--report=it's.html", "--read=/usr", "--read=/etc", "--write=/tmp"]
        code, output, errors = self.interrupt("--seed=3", "--save=a.capsule", *given, "a.scm")
        line = re.search(r"^vmrun: vmrun (.*) goes on from here\n\Z", errors, re.MULTILINE)
        self.assertIsNotNone(line, errors)
        self.assertEqual(shlex.split(line.group(1)), ["--resume=a.capsule", *given])
        self.vmrun(*shlex.split(line.group(1)), "--steps=1000000", code=75)
        code, output, errors = self.interrupt("--save=b.capsule", "a.scm", by=signal.SIGTERM)
        self.assertEqual(code, 143, errors)
        self.assertTrue(errors.endswith("vmrun: vmrun --resume=b.capsule goes on from here\n"), errors)
        self.assertEqual(self.vmrun("--resume=b.capsule", "--steps=1000000", code=75).output, "")
        code, output, errors = self.interrupt("--stats", "a.scm")
        self.assertEqual(code, 130, errors)
        self.assertIn('"steps":', errors.splitlines()[-1])

    def test_what_an_interrupt_saved_ends_as_if_nothing_had_been(self):
        self.write("a.scm", "(define (spin i x) (if (= i 30000000) x (spin (+ i 1) (+ x 1))))\n(checkpoint-*j sin 1. 1.)\n(display (spin 0 1))\n")
        code, output, errors = self.interrupt("--save=a.capsule", "a.scm")
        if code == 0:  # it was faster than the signal
            self.assertEqual(output, "30000001")
            return
        self.assertEqual(code, 130, errors)
        self.assertEqual(self.vmrun("--resume=a.capsule").output, "30000001")

    def test_a_signal_that_comes_while_a_state_is_saved_stops_the_run_and_saves_it(self):
        self.write("a.scm", "(define big (build-vector 300000 (lambda (i) (* 1. i))))\n"
                            "(define (spin i x) (if (= i 3000000) (+ x (vector-ref big 7)) (spin (+ i 1) (+ x 1))))\n(display (spin 0 1))\n")
        os.mkfifo(self.path("pipe.capsule"))
        for option, by, code in (("--save-every=5000000", signal.SIGINT, 130), ("--save-every=5000000", signal.SIGTERM, 143), ("--steps=5000000", signal.SIGINT, 130)):
            with self.subTest(option=option, by=by):
                # A state that is larger than a pipe: who saves it waits for the reader, and the signal comes meanwhile.
                reading = os.open(self.path("pipe.capsule"), os.O_RDONLY | os.O_NONBLOCK)
                running = subprocess.Popen([os.path.join(self.bin, "vmrun"), "--save=pipe.capsule", option, "a.scm"], cwd=self.folder,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                select.select([reading], [], [], 300)
                running.send_signal(by)
                os.set_blocking(reading, True)
                with open(reading, "rb") as pipe:
                    states = pipe.read()
                output, errors = (text.decode() for text in running.communicate(timeout=300))
                self.assertEqual(running.returncode, code, errors)
                self.assertEqual(output, "")
                self.assertNotIn("cannot be saved", errors)
                self.assertTrue(errors.endswith("vmrun: vmrun --resume=pipe.capsule goes on from here\n"), errors)
                begins = states.rfind(states[:8])  # the one that was broken off is followed by the whole one
                self.assertGreater(begins, 0)
                with open(self.path("a.capsule"), "wb") as file:
                    file.write(states[begins:])
                self.assertEqual(self.vmrun("--resume=a.capsule").output, "3000008.0")

    def test_options_that_are_far_from_all_there_are_get_no_advice(self):
        self.assertEqual(self.tool("vmrun", "--frobnicate", code=2).errors.splitlines()[0], "vmrun: error: there is no option --frobnicate")
        self.assertIn("did you mean --strip?", self.tool("vmc", "--stripp", "a.scm", code=2).errors)
        self.assertIn("did you mean --help?", self.tool("vmdis", "--halp", "a.bc", code=2).errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["mistakes.py", *arguments.tests])
