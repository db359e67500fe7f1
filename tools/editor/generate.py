#!/usr/bin/env python3
"""Writes the grammar by which editors colour programs; its lists of names are what the compiler itself knows.

    generate.py --library LIBCAIRN_COMPILER [--check]

With --check it compares cairn.tmLanguage.json with what it would write, and ends with code 1 if they differ.
"""
import argparse
import ctypes
import json
import os
import re
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cairn.tmLanguage.json")
DELIMITER = r"\s()\"';`,\[\]{}|"


def names(path):
    """(forms, procedures): the names that a program may mention. A procedure is an expression by itself, the name of a form is not."""
    library = ctypes.CDLL(path)
    library.cairn_compiler_free.argtypes = [ctypes.c_void_p]
    session, text = ctypes.c_void_p(), ctypes.c_void_p()
    if library.cairn_session_create(None, ctypes.byref(session), None) != 0 or library.cairn_session_names(session, None, ctypes.byref(text)) != 0:
        sys.exit("the compiler gives no names")
    found = ctypes.string_at(text).decode().split()
    library.cairn_compiler_free(text)
    library.cairn_session_free(session)

    def is_expression(name):
        bytes_, size = ctypes.c_void_p(), ctypes.c_size_t()
        status = library.cairn_compile(b"name", name.encode(), ctypes.c_size_t(len(name.encode())), None, ctypes.byref(bytes_),
                                       ctypes.byref(size), None)
        library.cairn_compiler_free(bytes_)
        return status == 0

    procedures = [name for name in found if is_expression(name)]
    return [name for name in found if name not in procedures], procedures


def any_of(words):
    """One of the words, as a whole symbol: symbols hold almost any character."""
    return rf"(?<![^{DELIMITER}])(?:{'|'.join(re.escape(word) for word in sorted(words, reverse=True))})(?![^{DELIMITER}])"


def grammar(forms, procedures):
    definitions = {"define", "define-derivative", "define-record-type", "define-values", "import", "include"}
    return {
        "name": "Cairn",
        "scopeName": "source.cairn",
        "fileTypes": ["scm", "vlad"],
        "patterns": [{"include": "#datum"}],
        "repository": {
            "datum": {"patterns": [{"include": f"#{part}"} for part in
                                   ("comment", "string", "character", "constant", "definition", "form", "procedure", "quotation")]},
            "comment": {"patterns": [
                {"name": "comment.line.semicolon.cairn", "match": ";.*$"},
                {"name": "comment.block.cairn", "begin": r"#\|", "end": r"\|#", "patterns": [{"include": "#nested"}]},
                {"name": "comment.block.datum.cairn", "match": rf"#;\s*[^{DELIMITER}]+"},
                {"name": "comment.block.datum.cairn", "begin": r"#;\s*['`,]*\(", "end": r"\)", "patterns": [{"include": "#list"}]},
            ]},
            "nested": {"begin": r"#\|", "end": r"\|#", "patterns": [{"include": "#nested"}]},
            "list": {"begin": r"\(", "end": r"\)", "patterns": [{"include": "#string"}, {"include": "#list"}]},
            "string": {"name": "string.quoted.double.cairn", "begin": "\"", "end": "\"",
                       "patterns": [{"name": "constant.character.escape.cairn", "match": r"\\(?:x[0-9a-fA-F]+;|.)"}]},
            "character": {"name": "constant.character.cairn", "match": rf"#\\(?:[^{DELIMITER}]+|.)"},
            "constant": {"patterns": [
                {"name": "constant.language.cairn", "match": rf"#(?:true|false|[tfTF])(?![^{DELIMITER}])"},
                {"name": "constant.numeric.cairn",
                 "match": rf"(?<![^{DELIMITER}])(?:#[bodxieBODXIE])*(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-](?:inf|nan)\.0|(?<=[xX])[+-]?[0-9a-fA-F]+)"
                          rf"(?![^{DELIMITER}])"},
            ]},
            "definition": {"match": rf"(\()(define(?:-derivative|-record-type)?)\s+(\(*)([^{DELIMITER}]+)",
                           "captures": {"2": {"name": "keyword.other.cairn"}, "4": {"name": "entity.name.function.cairn"}}},
            "form": {"patterns": [
                {"name": "keyword.control.cairn", "match": any_of([form for form in forms if form not in definitions])},
                {"name": "keyword.other.cairn", "match": any_of(definitions)},
            ]},
            "procedure": {"name": "support.function.cairn", "match": any_of(procedures)},
            "quotation": {"name": "keyword.operator.quotation.cairn", "match": "'|`|,@?"},
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = json.dumps(grammar(*names(os.path.abspath(arguments.library))), indent=2) + "\n"
    if not arguments.check:
        with open(PATH, "w") as file:
            file.write(text)
        return
    with open(PATH) as file:
        if file.read() != text:
            sys.exit("tools/editor/cairn.tmLanguage.json is old: run tools/editor/generate.py --library build/lib/libcairn_compiler.so")


if __name__ == "__main__":
    main()
