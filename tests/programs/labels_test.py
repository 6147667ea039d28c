#!/usr/bin/env python3
"""The judge is judged: a runner that passes everything would make every other figure worthless."""

import tempfile
import unittest
from pathlib import Path

import labels

SOURCE = """// rule: bytes
// claim: something
// expect: race write@a read@b
// allow: race any@c any@c
int f() {
  x = 1;  // @a
  y = x;  // @b
  z = 1;  // @b @c
}
"""


def load(text, kind="race"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.c"
        path.write_text(text)
        return labels.load(path, kind)


class JudgeTest(unittest.TestCase):
    def setUp(self):
        self.program = load(SOURCE)

    def test_expected_pair_in_either_order_passes(self):
        self.assertEqual(self.program.judge([(("write", 6), ("read", 7))]), [])
        self.assertEqual(self.program.judge([(("read", 8), ("write", 6))]), [])

    def test_missing_pair_fails(self):
        self.assertEqual(len(self.program.judge([])), 1)

    def test_wrong_operation_fails(self):
        self.assertEqual(len(self.program.judge([(("read", 6), ("read", 7))])), 2)

    def test_wrong_line_fails(self):
        self.assertEqual(len(self.program.judge([(("write", 5), ("read", 7))])), 2)

    def test_extra_pair_fails(self):
        good = (("write", 6), ("read", 7))
        self.assertEqual(len(self.program.judge([good, (("write", 6), ("write", 6))])), 1)

    def test_allowed_pair_passes_but_does_not_replace_the_expected_one(self):
        good, allowed = (("write", 6), ("read", 7)), (("free", 8), ("write", 8))
        self.assertEqual(self.program.judge([good, allowed]), [])
        self.assertEqual(len(self.program.judge([allowed])), 1)

    def test_norace_program_fails_on_any_finding(self):
        program = load("// rule: r\n// claim: c\n// expect: nothing\n", "norace")
        self.assertEqual(program.judge([]), [])
        self.assertEqual(len(program.judge([(("write", 0), ("read", 0))])), 1)


class LabelTest(unittest.TestCase):
    def test_unknown_mark_is_refused(self):
        with self.assertRaises(labels.LabelError):
            load("// rule: r\n// claim: c\n// expect: race write@a read@a\n")

    def test_expectation_is_needed(self):
        with self.assertRaises(labels.LabelError):
            load("// rule: r\n// claim: c\n")

    def test_race_folder_needs_a_race(self):
        with self.assertRaises(labels.LabelError):
            load("// rule: r\n// claim: c\n// expect: nothing\n", "race")

    def test_bad_operation_is_refused(self):
        with self.assertRaises(labels.LabelError):
            load(SOURCE.replace("write@a", "wrote@a"))


if __name__ == "__main__":
    unittest.main()
