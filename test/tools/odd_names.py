"""Files whose names have blanks, ends of lines, control characters or bytes that are no text: each works, and no message or table is upset by it."""
import json
import os
import unittest

import driver
from driver import ToolTest

ODD = "a \udcff\n\x1b[31m\"<b"  # the second byte is no UTF-8
GRADIENT = "(define (f x) (let loop ((i 0) (x x)) (if (= i 100) x (loop (+ i 1) (sin x)))))\n(write (checkpoint-*j f 1. 1.))\n"


class OddNames(ToolTest):
    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content.encode())
        return name

    def test_programs_modules_and_states(self):
        program, module, state, output = (ODD + end for end in (".scm", ".bc", ".state", ".out"))
        self.write(program, GRADIENT)
        value = self.vmrun(program).output
        self.assertTrue(value.startswith("(0.16885248872798"))
        self.tool("vmc", program, "-o", module, code=0)
        self.assertEqual(self.vmrun(module).output, value)
        self.assertIn("function #0", self.tool("vmdis", module, code=0).output)
        self.vmrun("--steps=100", f"--save={state}", program, code=75)
        self.vmrun(f"--output={output}", f"--resume={state}")
        self.assertEqual(self.read(output).decode(), value)

    def test_messages_have_the_name_on_one_line(self):
        self.write(ODD + ".scm", "(define (f x) (+ 1 (car x)))\n(f 2)")
        done = self.vmrun(ODD + ".scm", code=1)
        name = 'a \ufffd\\xa;\\x1b;[31m"<b.scm'
        self.assertEqual(done.errors.splitlines()[0], name + ":1:20: error: car: expected a pair, got 2")
        self.assertEqual([line for line in done.errors.splitlines() if line.startswith("  in ")], [f"  in f at {name}:1:20", f"  in the top level at {name}:2:1"])
        self.tool("vmc", ODD + ".scm", "-o", "a.bc", code=0)
        self.assertEqual(self.vmrun("a.bc", code=1).errors.splitlines()[0], done.errors.splitlines()[0])
        self.assertNotIn("\x1b", self.tool("vmdis", "a.bc", code=0).output)

    def test_tables_and_pages(self):
        self.write(ODD + ".scm", GRADIENT + "(report 'a 1)\n")
        done = self.vmrun("--profile", "--explain", ODD + ".scm")
        self.assertNotIn("\x1b", done.errors)
        self.assertIn('gradient 1 at a \ufffd\\xa;\\x1b;[31m"<b.scm:2:8\n', done.errors)
        self.vmrun(f"--explain={ODD}.json", f"--stats={ODD}.stats", f"--metrics={ODD}.csv", f"--report={ODD}.html", ODD + ".scm")
        self.assertEqual(json.loads(self.read(ODD + ".json"))["gradients"][0]["place"], ODD.replace("\udcff", "\ufffd") + ".scm:2:8")
        self.assertEqual(json.loads(self.read(ODD + ".stats"))["gradient_steps"], 304)
        self.assertIn(b"#report", self.read(ODD + ".csv"))
        self.vmrun("--explain=page.html", ODD + ".scm")
        for page in (ODD + ".html", "page.html"):
            self.assertIn("a \ufffd\n\x1b[31m&quot;&lt;b.scm", self.read(page).decode())

    def test_files_of_data(self):
        """A string of a program is text, so it names every file whose name is."""
        name = ODD.replace("\udcff", "\u00e9")
        text = name.replace("\n", "\\n").replace("\x1b", "\\x1b;").replace('"', '\\"')
        self.write("a.scm", f"""(write-table "{text}.csv" '("x") '((1 2)))
(write (tensor->list (cadr (read-table "{text}.csv"))))
(write-npy "{text}.npy" (ones '(2)))
(write (tensor->list (read-rows (npy-array "{text}.npy") '(1))))
(write (equal? (list-folder "d") '("{text}")))
(write (read-text (string-append "d/" (car (list-folder "d")))))
(read-text "{text}.none")""")
        os.mkdir(self.path("d"))
        self.write("d/" + name, "content")
        done = self.vmrun("a.scm", code=1)
        self.assertEqual(done.output, '(1.0 2.0)(1.0)#t"content"')
        self.assertIn("\\x1b;[31m", done.errors)
        self.assertNotIn("\x1b", done.errors)
        self.write("b.scm", f'(include "{text}.part")')
        self.write(name + ".part", "(write 'included)")
        self.assertEqual(self.vmrun("b.scm").output, "included")
        self.write("c.scm", "(write (string-length (car (command-line))))")
        self.assertEqual(self.vmrun("c.scm", name).output, str(len(name)))


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["odd_names.py", *arguments.tests])
