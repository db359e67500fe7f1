#!/usr/bin/env python3
"""Pictures: well-formed SVG whose marks are where the numbers say, with round ticks, legends, and texts as they are."""
import os
import re
import unittest
import xml.etree.ElementTree as xml

import driver
from driver import ToolTest

SVG = "{http://www.w3.org/2000/svg}"


class Plots(ToolTest):
    def picture(self, *expressions):
        self.vmrun(self.write("plot.scm", "\n".join(expressions)))
        return xml.fromstring(self.read("a.svg"))

    def texts(self, picture):
        return [text.text for text in picture.iter(SVG + "text")]

    def places(self, picture):
        """Of the lines, their points; of circles, their centres."""
        lines = [[tuple(map(float, point.split(","))) for point in line.get("points").split()] for line in picture.iter(SVG + "polyline")]
        return lines or [[(float(circle.get("cx")), float(circle.get("cy"))) for circle in picture.iter(SVG + "circle")]]

    def frame(self, picture):
        """The corners: left, top, bottom, right."""
        axes = next(path.get("d") for path in picture.iter(SVG + "path") if path.get("stroke") == "#555")
        return tuple(map(float, re.fullmatch(r"M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)", axes).groups()))

    def test_a_line_goes_from_corner_to_corner_of_its_numbers(self):
        picture = self.picture('(plot-lines "a.svg" \'((title "T") (x "time") (y "height")) \'((0 . 0) (5 . 50) (10 . 100)))')
        left, top, bottom, right = self.frame(picture)
        (first, middle, last), = self.places(picture)
        self.assertEqual(first, (left, bottom))
        self.assertEqual(last[0], right)
        self.assertAlmostEqual(middle[0], (left + right) / 2, delta=.01)
        self.assertAlmostEqual(middle[1], (first[1] + last[1]) / 2, delta=.01)
        self.assertTrue(top < last[1] < top + 20)  # a little room above the largest
        self.assertEqual(self.texts(picture), ["0", "2", "4", "6", "8", "10", "0", "20", "40", "60", "80", "100", "T", "time", "height"])

    def test_series_are_told_by_name_and_colour(self):
        picture = self.picture('(plot-lines "a.svg" \'() (cons "train" \'(1 2 3)) (cons "test" (list->tensor \'(3 2 1))))',)
        self.assertEqual(self.texts(picture)[-2:], ["train", "test"])
        colours = [line.get("stroke") for line in picture.iter(SVG + "polyline")]
        self.assertEqual(len(set(colours)), 2)
        swatches = [path.get("stroke") for path in picture.iter(SVG + "path") if path.get("stroke-width") == "2.4"]
        self.assertEqual(swatches, colours)

    def test_many_names_take_rows_and_leave_the_title_free(self):
        names = " ".join(f'(cons "a series with a long name, {i}" (list 1 {i}))' for i in range(6))
        picture = self.picture(f'(plot-lines "a.svg" \'((title "Many")) {names})')
        rows = {text.get("y") for text in picture.iter(SVG + "text") if "series" in text.text}
        self.assertEqual(len(rows), 3)
        self.assertTrue(all(float(text.get("y")) > 30 for text in picture.iter(SVG + "text") if "series" in text.text))

    def test_texts_are_escaped(self):
        picture = self.picture('(plot-scatter "a.svg" \'((title "a < b & \\"c\\" > d")) (cons "<&>" \'(1 2)))')
        self.assertIn('a < b & "c" > d', self.texts(picture))
        self.assertIn("<&>", self.texts(picture))

    def test_logarithmic_axes(self):
        picture = self.picture('(plot-lines "a.svg" \'((log-x #t) (log-y #t)) \'((1 . 1e-4) (10 . 1e-2) (100 . 1)))')
        line, = self.places(picture)
        self.assertAlmostEqual(line[1][0] - line[0][0], line[2][0] - line[1][0], delta=.02)
        self.assertAlmostEqual(line[1][1] - line[0][1], line[2][1] - line[1][1], delta=.02)
        self.assertEqual(self.texts(picture), ["1", "10", "100", "1e-4", "0.001", "0.01", "0.1", "1"])

    def test_what_cannot_be_shown_is_left_out(self):
        picture = self.picture('(plot-scatter "a.svg" \'((log-y #t)) (list 1 0 -1 +inf.0 +nan.0 2))')
        self.assertEqual(len(self.places(picture)[0]), 2)
        for nothing in ("'()", "(list +nan.0)", "(list->tensor '())"):
            self.assertIn("plot-lines: ", self.vmrun(self.write("b.scm", f'(plot-lines "b.svg" \'() {nothing})'), code=1).errors)

    def test_ticks_are_round_whatever_the_numbers(self):
        for low, high in ((0, 1), (-3, 3), (1e-7, 3e-7), (123456, 123999), (-1e9, 4e12), (5, 5), (0, 0), (-2e-300, 3e-300)):
            with self.subTest(low=low, high=high):
                texts = self.texts(self.picture(f'(plot-lines "a.svg" \'() \'((0 . {low}) (1 . {high})))'))[6:]
                self.assertTrue(2 <= len(texts) <= 9, texts)
                numbers = [float(text) for text in texts]
                distances = {float(f"{b - a:.3g}") for a, b in zip(numbers, numbers[1:])}
                self.assertEqual(len(distances), 1, texts)
                self.assertIn(f"{distances.pop():e}"[0], "125")
                self.assertTrue(all(len(text) <= 9 for text in texts), texts)

    def test_numbers_at_the_ends_of_what_there_is(self):
        for series in (".3 0.30000000000000004", "100. 100.00000000000001", "1e16 (+ 1e16 2)", "5e-324 1e-323", "1e308 -1e308", "0 0"):
            for expression in (f'(plot-lines "a.svg" (list) (list {series}))', f'(plot-scatter "a.svg" (list) (list {series}))'):
                with self.subTest(expression):
                    self.assertNotIn("nan", "".join(str(text) for text in self.texts(self.picture(expression))))
        self.picture('(plot-lines "a.svg" \'((log-x #t)) \'((1e-300 . 1) (1e300 . 2)))')
        self.picture('(plot-histogram "a.svg" \'() \'(.3 0.30000000000000004))')
        done = self.vmrun(self.write("plot.scm", '(plot-histogram "a.svg" \'() \'(-1e308 1e308))'), code=1)
        self.assertIn("the numbers are too far apart: -1e+308 1e+308", done.errors)

    def test_histogram(self):
        picture = self.picture('(plot-histogram "a.svg" \'() \'(0 0 0 1 1.5 2 4) 4)')
        left, top, bottom, right = self.frame(picture)
        bars = [float(bar.get("height")) for bar in picture.iter(SVG + "rect") if bar.get("x")]
        self.assertEqual([round(bar / bars[0] * 3, 2) for bar in bars], [3, 2, 1, 1])
        self.assertIn("no finite number", self.vmrun(self.write("b.scm", "(plot-histogram \"b.svg\" '() '())"), code=1).errors)
        self.picture('(plot-histogram "a.svg" \'() (fill \'(5) 7))')

    def cells(self, picture):
        return [cell.get("fill") for group in picture.iter(SVG + "g") for cell in group][:6]

    def test_labels_that_there_are_not(self):
        for labels, message in (("'((titel \"a\"))", "plot-lines: there is no label titel; there are (title x y width height log-x log-y points)"),
                                ("'((ylim 0 1))", "plot-lines: there is no label ylim; there are (title"),
                                ("'((title 5))", "the value of title is a text, got 5"), ("'((log-x 1))", "the value of log-x is #t or #f, got 1"),
                                ("'(title \"a\")", "a label is a list of a name and a value"), ('"a"', "labels are an association list"),
                                ("'((points (\"a\")))", "points names no series \"a\"")):
            self.assertIn(message, self.vmrun(self.write("b.scm", f'(plot-lines "b.svg" {labels} \'(1 2))'), code=1).errors)
        self.assertIn("there is no label points", self.vmrun(self.write("b.scm", "(plot-scatter \"b.svg\" '((points (\"a\"))) '(1 2))"), code=1).errors)
        for call in ("(plot-histogram \"b.svg\" '((log-y #t)) '(1 2))", "(plot-image \"b.svg\" '((log-y #t)) (ones '(2 2)))",
                     "(plot-heat-map \"b.svg\" '((log-y #t)) (ones '(2 2)))"):
            self.assertIn("there is no label log-y; there are (title x y width height)", self.vmrun(self.write("b.scm", call), code=1).errors)

    def test_images(self):
        self.assertEqual(self.cells(self.picture('(plot-image "a.svg" \'() (list->tensor \'((0 1 2) (4 3 3))))')),
                         ["#000000", "#404040", "#808080", "#ffffff", "#bfbfbf"])  # neighbours alike are one
        colours = "'(((1 0) (0 .5)) ((0 1) (0 .5)) ((0 0) (7 -1)))"
        self.assertEqual(self.cells(self.picture(f'(plot-image "a.svg" \'() (list->tensor {colours}))')), ["#ff0000", "#00ff00", "#0000ff", "#808000"])
        for sizes, cure in (("'(2 3 3)", "; of a picture as read-image gives it (/ (channels-first t) 255)"), ("'(4)", "")):
            self.assertIn(f"expected sizes (height width) or (3 height width){cure}, got",
                          self.vmrun(self.write("b.scm", f'(plot-image "b.svg" \'() (zeros {sizes}))'), code=1).errors)
        self.assertIn("too many cells", self.vmrun(self.write("b.scm", '(plot-image "b.svg" \'() (zeros \'(400 400)))'), code=1).errors)
        self.assertIn("no cell", self.vmrun(self.write("b.scm", '(plot-image "b.svg" \'() (zeros \'(0 4)))'), code=1).errors)

    def test_heat_maps_have_numbers_and_a_scale(self):
        picture = self.picture('(plot-heat-map "a.svg" \'((x "read") (y "written")) (list->tensor \'((9 0) (1.257 10))))')
        self.assertEqual(self.texts(picture), ["9", "0", "1.26", "10", "0", "1", "0", "1", "0", "2", "4", "6", "8", "10", "read", "written"])
        self.assertEqual(self.cells(picture)[:4], ["#bcdc3b", "#440154", "#422b74", "#fde725"])
        holes = self.picture('(plot-heat-map "a.svg" \'() (list->tensor \'((1 +nan.0) (+inf.0 3))))')
        self.assertEqual((self.texts(holes)[:2], self.cells(holes)[1:3]), (["1", "3"], ["#bbbbbb", "#bbbbbb"]))
        self.assertIn("expected sizes (rows columns), got", self.vmrun(self.write("b.scm", '(plot-heat-map "b.svg" \'() (zeros \'(2 2 2)))'), code=1).errors)

    def test_the_file_is_as_every_other(self):
        self.assertIn("may not be written", self.vmrun(self.write("b.scm", "(plot-lines \"/etc/a.svg\" '() '(1 2))"), code=1).errors)
        for given, what in (('"text"', '"text"'), ("(zeros '(2 3 4))", "plot-lines")):
            self.assertIn(what, self.vmrun(self.write("b.scm", f"(plot-lines \"a.svg\" '() {given})"), code=1).errors)


if __name__ == "__main__":
    arguments = driver.parse(__doc__)
    ToolTest.bin = os.path.abspath(arguments.bin)
    unittest.main(argv=["plots.py", *arguments.tests])
