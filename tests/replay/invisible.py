#!/usr/bin/env python3
"""Programs with a library that is not instrumented, recorded and analysed: what the library may order is no race.

    tests/replay/invisible.py BUILD_DIR [unittest arguments]
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "invisible"
BUILD = Path(sys.argv.pop(1)).resolve()


class Invisible(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="deadheat-invisible-"))
        cls.run_all(["clang-19", "-O2", "-fPIC", "-shared", "-pthread", SOURCES / "gate.c", "-o", cls.folder / "libgate.so"])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @staticmethod
    def run_all(command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 66):
            raise AssertionError(f"{command}: {done.returncode}: {done.stderr}")
        return done

    def record(self, source):
        program = self.folder / Path(source).stem
        wrapper = BUILD / "bin" / ("deadheat-c++" if source.endswith(".cc") else "deadheat-cc")
        self.run_all([wrapper, "--deadheat-mode=record", "-g", "-O1", "-pthread", SOURCES / source, "-o", program,
                      "-L", self.folder, "-lgate", f"-Wl,-rpath,{self.folder}"])
        self.recording = self.folder / f"{program.name}.dh"
        self.run_all([BUILD / "bin" / "deadheat", "run", "--mode", "record", "--quiet", "--force", "--out", self.recording, "--",
                      program])
        done = self.run_all([BUILD / "bin" / "deadheat", "replay", self.recording])
        self.assertIn("100 % verified", done.stdout)

    def analyze(self, detectors=None):
        """The variables that race, and the report's notes."""
        report = self.folder / "report.json"
        chosen = ["--detectors", detectors] if detectors else []
        done = self.run_all([BUILD / "bin" / "deadheat", "analyze", *chosen, "--json", report, self.recording])
        document = json.loads(report.read_text())
        self.detectors = {name for finding in document["findings"] for name in finding["detectors"]}
        return sorted(finding["variable"].get("name") or finding["variable"]["kind"]
                      for finding in document["findings"]), done.stderr

    def test_what_the_library_orders_does_not_race(self):
        self.record("ordered.c")
        self.assertEqual(self.analyze("hb")[0], ["data"], "a detector that takes the library for nothing")
        self.assertEqual(self.analyze("rdit")[0], [])
        races, said = self.analyze()
        self.assertEqual(races, [])
        self.assertIn("rdit instead of hb", said)

    def test_what_the_library_cannot_order_does(self):
        self.record("unordered.c")
        self.assertEqual(self.analyze("rdit")[0], ["data"])
        races, said = self.analyze()
        self.assertEqual((races, self.detectors), (["data"], {"hb"}), "nothing that it reaches is shared")
        self.assertNotIn("rdit", said)

    def test_the_account_example_has_one_race(self):
        self.record("account.cc")
        self.assertGreater(len(self.analyze("hb")[0]), 1)
        self.assertEqual(self.analyze("rdit")[0], ["bank_total"])
        self.assertEqual(self.analyze()[0], ["bank_total"])

    def test_a_local_is_named(self):
        self.record("local.c")
        self.assertEqual(self.analyze()[0], ["left_behind"])

    def test_predictors_run_on_recordings(self):
        self.record("unordered.c")
        self.assertEqual(self.analyze("mcm")[0], ["data"])


if __name__ == "__main__":
    unittest.main()
