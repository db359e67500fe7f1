#!/usr/bin/env python3
"""Tokenizers: the same tokens as PyPI's tokenizers and tiktoken (test/data/bpe, made by tools/golden/tokens.py), and files that are none."""
import json
import os
import shutil
import unittest

import driver
from driver import ToolTest

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "bpe")


class Tokens(ToolTest):
    def setUp(self):
        super().setUp()
        for name in os.listdir(DATA):
            shutil.copy(os.path.join(DATA, name), self.folder)

    def value(self, text, *options):
        self.write("a.scm", text)
        return self.vmrun(*options, "a.scm").output

    def refused(self, text, message):
        self.write("a.scm", text)
        self.assertRegex(self.vmrun("a.scm", code=1).errors, message)

    def test_texts_become_the_tokens_of_others_and_back(self):
        with open(os.path.join(DATA, "texts.json")) as file:
            self.assertGreater(len(json.load(file)), 100)
        for options in ((), ("--device=emulated",)):
            self.assertEqual(self.value("""(define t (read-bpe "vocab.json" "merges.txt"))
(vector-for-each (lambda (c)
    (let ((text (vector-ref c 0)) (tokens (vector->list (vector-ref c 1))) (ours (tokenize t (vector-ref c 0))))
      (if (equal? (tensor->list ours) tokens) #t (error "other tokens" text tokens (tensor->list ours)))
      (if (equal? (detokenize t ours) text) #t (error "another text" text (detokenize t ours)))
      (if (equal? (detokenize t tokens) text) #t (error "another text" text))))
  (read-json "texts.json"))
(write (tensor-type (tokenize t "a")))""", *options), "i64")

    def test_bytes(self):
        self.assertEqual(self.value('(define t (byte-tokenizer))(write (tensor->list (tokenize t "h\u00e9 \u4e2d")))(write (detokenize t (tokenize t "h\u00e9 \u4e2d")))'
                                    "(write (detokenize t '(104 195 40 228 184)))"), '(104 195 169 32 228 184 173)"h\u00e9 \u4e2d""h\ufffd(\ufffd\ufffd"')

    def test_special_tokens(self):
        vocabulary = json.loads(self.value('(display (json->string (read-json "vocab.json")))'))
        word = max((w for w in vocabulary if w.isascii() and w.isalpha()), key=lambda w: (len(w), w))
        start = '(define t (read-bpe "vocab.json" "merges.txt"))(define (show x) (display (json->string x)) (newline))'
        # A special text is one token wherever it stands, and the parts between are tokenized by themselves.
        whole, plain, apart, twice = (json.loads(line) for line in self.value(
            start + f"""(define s '("{word}" ("<|end|>" . 90001)))
(show (tokenize t "one{word}two<|end|><|end|> three" s))
(show (tokenize t "one{word}two<|end|> three"))
(show (list (tokenize t "one") (tokenize t "two") (tokenize t " three")))
(show (tokenize t "<|end|>" '(("<|" . 5) ("<|end" . 6) ("|>" . 7))))""").split("\n")[:4])
        one, two, three = apart
        self.assertEqual(whole, one + [vocabulary[word]] + two + [90001, 90001] + three)
        self.assertNotIn(90001, plain)
        self.assertEqual(twice, [6, 7])  # the longest of those that stand at one place
        self.assertEqual(self.value(f"""{start}(show (tokenize t "" '("{word}")))(show (tokenize t "{word}" '("{word}")))(show (tokenize t "a" '()))""").split()[:2],
                         ["[]", f"[{vocabulary[word]}]"])
        self.refused(start + """(tokenize t "a" '("<|nowhere|>"))""", r'the vocabulary has no token "<|nowhere|>"; name it with its number')
        for special in ("""'("")""", "'(5)", """'(("a" . x))""", """'(("a" . -1))""", '"a"'):
            self.refused(start + f"(tokenize t \"a\" {special})", "tokenize: expected special tokens, a list of texts")

    def test_a_tokenizer_is_saved_with_the_state(self):
        self.write("a.scm", """(define t (read-bpe "vocab.json" "merges.txt"))
(define (wait i) (if (= i 2000) i (wait (+ i 1))))
(wait 0)
(write (tensor->list (tokenize t "The answer isn't 42")))""")
        self.vmrun("--steps=3000", "--save=c", "a.scm", code=75)
        os.remove(self.path("vocab.json"))
        self.assertEqual(self.vmrun("--resume=c").output.count(" "), len(self.tokens_of("The answer isn't 42")) - 1)

    def tokens_of(self, text):
        with open(os.path.join(DATA, "texts.json")) as file:
            known = dict(json.load(file))
        shutil.copy(os.path.join(DATA, "vocab.json"), self.folder)
        return known.get(text) or json.loads(self.value(f'(display (json->string (tokenize (read-bpe "vocab.json" "merges.txt") "{text}")))'))

    def test_files_that_are_none(self):
        vocabulary = json.loads(self.read("vocab.json"))
        merges = self.read("merges.txt")
        letter = next(token for token in vocabulary if len(token) == 1)
        for content, message in (("[]", "vocab.json: is no vocabulary"), ("{}", "without tokens"), ('{"a": 1.5}', "no vocabulary"), ('{"a": -1}', "no vocabulary"),
                                 ('{"a": 4000000000}', "number 4000000000, and 1 tokens"), ('{"a": {"b": 1}}', "no vocabulary"), ('{"a": 1, "b": 1}', "two tokens"),
                                 ("7", "no vocabulary"), ('"x"', "no vocabulary"),
                                 ('{"a": 1', r"byte \d+"), (json.dumps({k: v for k, v in vocabulary.items() if k != letter}), "merges.txt: .*no token for bytes of value")):
            self.write("vocab.json", content)
            self.refused('(read-bpe "vocab.json" "merges.txt")', message)
        self.write("vocab.json", json.dumps(vocabulary))
        for content, message in ((b"a b c\n", "byte 0"), (b"#version\nab\n", "byte 9"), (merges + b"zq zq\n", "not in the vocabulary"), (b"\xff \xfe\n", r"no text in UTF-8 \(byte 0\)"), (b"a \xce\xbb\xff\n", r"no text in UTF-8 \(byte 4\)"), (b"a\n", "two tokens")):
            self.write("merges.txt", content)
            self.refused('(read-bpe "vocab.json" "merges.txt")', "read-bpe: merges.txt: .*" + message)

    def test_a_number_that_the_vocabulary_lacks(self):
        vocabulary = json.loads(self.read("vocab.json"))
        gap = max(vocabulary.values()) + 1
        self.write("gap.json", json.dumps({**vocabulary, "a gap ends here": gap + 1}))
        self.refused(f'(detokenize (read-bpe "gap.json" "merges.txt") (list {gap}))', f"detokenize: the vocabulary has no token with the number {gap}; leave it out")

    def test_what_is_no_tokenizer(self):
        for text in ('(tokenize 5 "a")', "(tokenize (byte-tokenizer) 5)", "(tokenize (list 'tokenizer) \"a\")", "(detokenize (byte-tokenizer) '(256))", "(detokenize (byte-tokenizer) '(-1))",
                     "(detokenize (byte-tokenizer) '(0.5))", "(detokenize (byte-tokenizer) 'a)", "(detokenize (byte-tokenizer) (ones '(1 1)))",
                     "(tokenize (list 'tokenizer (zeros '(256) 'i32) (zeros '(6) 'i64) (zeros '(1) 'u8) (zeros '(1) 'i64)) \"a\")",
                     "(detokenize (list 'tokenizer (zeros '(256) 'i32) (zeros '(2) 'i64) (zeros '(1) 'u8) (list->tensor '(2) 'i64)) '(0))"):
            self.refused(text, "(de)?tokenize: ")
        # Tables that say anything do no harm.
        self.value("(define t (list 'tokenizer (zeros '(256) 'i32) (list->tensor '(0 4294967296 0 77 5 6 -1 -1) 'i64) (zeros '(1) 'u8) (zeros '(1) 'i64)))(tokenize t \"abcdef ghi\")")


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["tokens.py", *arguments.tests])
