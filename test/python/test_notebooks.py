"""The notebooks of docs/python run, cell after cell, and what they assert holds."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ.get("CAIRN_ROOT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


class Notebooks(unittest.TestCase):
    def run_notebook(self, name):
        with open(os.path.join(ROOT, "docs", "python", name), encoding="utf-8") as file:
            notebook = json.load(file)
        self.assertEqual(notebook["nbformat"], 4)
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code"), "save notebooks without output")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", "\n\n".join(cells)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=1200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-3000:])
        return done.stdout

    def test_the_pendulum(self):
        self.assertIn("MB at the most", self.run_notebook("pendulum.ipynb"))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_the_layer(self):
        self.assertIn("schedule", self.run_notebook("layer.ipynb"))


if __name__ == "__main__":
    unittest.main()
