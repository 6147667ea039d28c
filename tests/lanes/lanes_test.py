#!/usr/bin/env python3
"""Every lane: chosen by flag and by variable, named in the report, refused where another one was asked for, and never
mixed with another one in a program, statically or by a shared library."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else "build"
BIN = os.path.join(BUILD, "bin")
LANES = [lane for lane in ("watch", "monitor", "record")
         if os.path.exists(os.path.join(BUILD, "lib/deadheat", f"libdeadheat_{lane}.a"))]

# Lanes that report findings when the program ends; a recording is analysed afterwards.
REPORTING = [lane for lane in LANES if lane != "record"]

PROGRAM = """
#include <pthread.h>
int part(int);
static void* run(void* p) { *(int*)p = part(3); return 0; }
int main() { pthread_t t; int r = 0; pthread_create(&t, 0, run, &r); pthread_join(t, 0); return r - 4; }
"""
PART = "int part(int x) { static int calls; calls += x; return calls + 1; }\n"


class Lanes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write("program.c", PROGRAM)
        self.write("part.c", PART)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def call(self, *words, code=0, **environment):
        done = subprocess.run(words, cwd=self.folder.name, capture_output=True, text=True,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def cc(self, lane, *words, **more):
        return self.call(os.path.join(BIN, "deadheat-cc"), "-O1", "-pthread", f"--deadheat-mode={lane}", *words, **more)

    def test_the_report_names_the_lane(self):
        for lane in REPORTING:
            self.cc(lane, "program.c", "part.c", "-o", lane)
            self.call(os.path.join(BIN, "deadheat"), "run", "--mode", lane, "--json", lane + ".json", "--", "./" + lane)
            with open(self.path(lane + ".json")) as file:
                self.assertEqual(json.load(file)["mode"], lane)

    def test_the_variable_chooses_too_and_the_flag_wins(self):
        self.call(os.path.join(BIN, "deadheat-cc"), "-pthread", "program.c", "part.c", "-o", "a", DEADHEAT_MODE="monitor")
        self.call(os.path.join(BIN, "deadheat"), "run", "--mode", "monitor", "--", "./a")
        self.cc("watch", "program.c", "part.c", "-o", "b", DEADHEAT_MODE="monitor")
        self.call(os.path.join(BIN, "deadheat"), "run", "--mode", "watch", "--", "./b")

    def test_check_builds_for_the_lane(self):
        for lane in REPORTING:
            self.call(os.path.join(BIN, "deadheat"), "check", "--mode", lane, "--json", "c.json", "program.c", "part.c")
            with open(self.path("c.json")) as file:
                self.assertEqual(json.load(file)["mode"], lane)

    def test_another_lane_than_it_was_built_for_is_refused_before_it_runs(self):
        self.write("loud.c", '#include <stdio.h>\nint main() { puts("ran"); return 0; }\n')
        self.cc("monitor", "loud.c", "-o", "loud")
        text = self.call(os.path.join(BIN, "deadheat"), "run", "--mode", "watch", "--", "./loud", code=2)
        self.assertIn("built for --deadheat-mode=monitor, and --mode watch was asked for", text)
        self.assertNotIn("ran", text)

    def test_objects_of_two_lanes_are_refused_at_start(self):
        for one in LANES:
            for other in LANES:
                if one == other:
                    continue
                self.cc(one, "-c", "part.c", "-o", "part.o")
                self.cc(other, "program.c", "part.o", "-o", "mixed")
                text = self.call("./mixed", code=70)
                self.assertIn(f"instrumented for {one} mode, the runtime linked with it is that of {other} mode", text)

    def test_a_shared_library_of_another_lane_is_refused_when_it_is_loaded(self):
        for one in LANES:
            for other in LANES:
                if one == other:
                    continue
                self.cc(one, "-shared", "-fPIC", "part.c", "-o", "libpart.so")
                self.cc(other, "program.c", "libpart.so", "-Wl,-rpath,$ORIGIN", "-o", "mixed")
                text = self.call("./mixed", code=70)
                self.assertIn(f"instrumented for {one} mode, the runtime linked with it is that of {other} mode", text)

    def test_slow_paths_are_bound_before_they_are_called(self):
        """They keep registers that the dynamic linker would not keep, were it to look for them at the first call."""
        for lane in LANES:
            self.cc(lane, "-O2", "-shared", "-fPIC", "-Wl,-z,lazy", "part.c", "-o", "libpart.so")
            lines = [line.split() for line in self.call("readelf", "-rW", "libpart.so").splitlines()]
            bound = {words[4]: words[2] for words in lines if len(words) > 4 and words[2].startswith("R_X86_64")}
            slow = {name: how for name, how in bound.items() if "_slow" in name or name == "__dh_rec_attend"}
            self.assertTrue(slow, f"{lane}: {bound}")
            self.assertEqual(set(slow.values()), {"R_X86_64_GLOB_DAT"}, f"{lane}: {slow}")

    def test_a_lane_without_a_runtime_is_refused_by_the_wrapper(self):
        for lane in ("watch", "monitor", "record"):
            if lane not in LANES:
                self.assertIn("is not part of this installation", self.cc(lane, "-c", "part.c", code=2))
        self.assertIn("expected watch, monitor, record or off", self.cc("fast", "-c", "part.c", code=2))


if __name__ == "__main__":
    unittest.main()
