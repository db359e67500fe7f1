#!/usr/bin/env python3
"""Trains a small byte-level BPE on a page of the documents, and writes test/data/bpe: the two files in GPT-2's form, and texts with the tokens
that PyPI's tokenizers and tiktoken agree on.

Needs tokenizers (0.23.3 was used) and tiktoken (0.14.0); the test that reads the files needs neither.
"""
import json
import pathlib
import random
import unicodedata

import tiktoken
import tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "test" / "data" / "bpe"
SPLIT = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""  # GPT-2's, in its own notation
TOKENS = 700
TEXTS = ["", " ", "  ", "a", "The answer isn't 42, they've said; we'll see'd 'twas o'clock'S", "x  y   z\n\n\n  end \t\n", "tabs\t\tand\r\nreturns\r\n ", "1234 5678.9e-3 ½ ² Ⅷ ٣",
         "naïve café Straße Ελλάδα привет мир 你好，世界 こんにちは สวัสดี שלום مرحبا", "😀😀 👩‍👩‍👧 🇩🇪", " é = e + \u0301", "\u00a0\u2003x\u3000 y\u2028z\u0085w\ufeff", "a\u0000b\u001cc\u200bd",
         "((lambda (x) (* x x)) 3) ; code_with_underscores::and->arrows", "'''''s", "don't  'll", " 's", "a" * 300, "ab" * 200, "  " * 50 + "x", "Tensor tensors TENSORS"]


def random_texts():
    draw = random.Random(7)
    alphabet = [chr(c) for c in range(0x20, 0x7F)] + list(" \n\t  'ʼsß½²٣é中한\u00a0\u2009😀\u0301")
    plane = [chr(c) for c in range(0x300, 0x3000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    return ["".join(draw.choices(alphabet, k=draw.randrange(60))) for _ in range(80)] + ["".join(draw.choices(plane, k=40)) for _ in range(40)]


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    trained = tokenizers.ByteLevelBPETokenizer()
    page = (ROOT / "docs" / "language.md").read_text()
    trained.train_from_iterator([page, *TEXTS], vocab_size=TOKENS, min_frequency=2, show_progress=False)
    trained.save_model(str(TARGET))
    vocabulary = json.loads((TARGET / "vocab.json").read_text())
    reference = tokenizers.ByteLevelBPETokenizer(str(TARGET / "vocab.json"), str(TARGET / "merges.txt"))

    printed = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    characters = {chr(b): b for b in printed} | {chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in printed)}
    ranks = {bytes(characters[c] for c in token): number for token, number in vocabulary.items()}
    other = tiktoken.Encoding("small", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens={})
    cases = []
    for text in TEXTS + random_texts():
        tokens = reference.encode(text).ids
        if tokens != other.encode_ordinary(text):
            raise SystemExit(f"they differ in {text!r}")
        cases.append([text, tokens])
    (TARGET / "texts.json").write_text(json.dumps(cases) + "\n")


main()
