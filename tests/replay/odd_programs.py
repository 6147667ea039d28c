#!/usr/bin/env python3
"""Programs that are built or linked in unusual ways, recorded and replayed: every region verified, at -O0 and -O2.

    tests/replay/odd_programs.py BUILD_DIR [unittest arguments]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "odd"
BUILD = Path(sys.argv.pop(1)).resolve()
RUNS = 3


class Odd(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="deadheat-odd-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_all(self, command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        return done.stdout

    def compile(self, source, output, *flags):
        wrapper = BUILD / "bin" / ("deadheat-c++" if source.endswith(".cc") else "deadheat-cc")
        self.run_all([wrapper, "--deadheat-mode=record", "-g", "-pthread", *flags, SOURCES / source, "-o", self.folder / output])
        return self.folder / output

    def verify(self, *command):
        tool = BUILD / "bin" / "deadheat"
        recording = self.folder / "recording"
        for _ in range(RUNS):
            self.run_all([tool, "run", "--mode", "record", "--quiet", "--force", "--out", recording, "--", *command])
            self.run_all([tool, "recording", "check", recording])
            self.assertIn("100 % verified", self.run_all([tool, "replay", recording]))

    def test_openmp(self):
        for level in ("-O0", "-O2"):
            self.verify(self.compile("openmp.c", "openmp" + level, level, "-fopenmp"))

    def test_a_handler_that_comes_at_any_moment_of_a_library_call(self):
        for level in ("-O0", "-O2"):
            self.verify(self.compile("interrupted.cc", "interrupted" + level, level))

    def test_results_of_functions_that_have_none(self):
        for level in ("-O0", "-O1", "-O2", "-O3"):
            self.verify(self.compile("no_result.c", "no_result" + level, level))

    def test_functions_that_are_chosen_when_the_program_is_loaded(self):
        for level in ("-O0", "-O2"):
            self.verify(self.compile("chosen_late.c", "chosen_late" + level, level))

    def test_variable_arguments_beside_wide_registers(self):
        for flags in (("-O0", "-mavx2"), ("-O2", "-mavx2"), ("-O2",)):
            if "-mavx2" in flags and "avx2" not in Path("/proc/cpuinfo").read_text().split():
                continue
            program = self.compile("wide_arguments.c", "wide_arguments" + "".join(flags), *flags)
            self.verify(program)
            self.run_all([program])  # not recorded at all

    def test_vectors_that_another_thread_writes(self):
        for level in ("-O2", "-O3"):
            self.verify(self.compile("vectors.c", "vectors" + level, level))

    def test_a_library_is_loaded_again(self):
        for level in ("-O0", "-O2"):
            plugin = self.compile("plugin.cc", f"plugin{level}.so", level, "-fPIC", "-shared")
            self.verify(self.compile("loader.cc", "loader" + level, level), plugin)

    def test_a_library_whose_hooks_are_bound_at_their_first_call(self):
        for level in ("-O1", "-O2", "-O3"):
            self.compile("loop_library.c", f"libloop{level}.so", level, "-fPIC", "-shared", "-Wl,-z,lazy")
            self.verify(self.compile("loop.c", "loop" + level, level, "-Wl,-z,lazy", f"-Wl,-rpath,{self.folder}",
                                     self.folder / f"libloop{level}.so"))

    def test_replays_and_recordings_as_json(self):
        program = self.compile("naked.c", "naked", "-O1")
        tool, recording, file = BUILD / "bin" / "deadheat", self.folder / "recording", self.folder / "out.json"
        self.verify(program)
        self.assertIn("100 % verified", self.run_all([tool, "replay", "--json", file, recording]))
        replay = json.loads(file.read_text())
        self.assertEqual((replay["schema"], replay["verified"]), ("deadheat-replay/1", True))
        self.assertEqual(replay["summary"]["threads"], 1)
        self.assertGreater(replay["summary"]["regions"], 0)
        self.assertEqual(replay["threads"][0]["outcome"], "ended")
        self.assertNotIn("divergence", replay)
        self.assertEqual(json.loads(self.run_all([tool, "replay", "--json", "-", recording]))["schema"], "deadheat-replay/1")
        stat = json.loads(self.run_all([tool, "recording", "stat", "--json", "-", recording]))
        self.assertEqual(stat["schema"], "deadheat-recording/1")
        self.assertEqual(stat["recording"]["command"], [str(program)])
        self.assertEqual(stat["recording"]["ended"]["exit"], 0)
        self.assertEqual(stat["summary"]["values"], replay["summary"]["values"])

    def test_several_recordings_in_one_command(self):
        program = self.compile("naked.c", "naked", "-O1")
        tool = BUILD / "bin" / "deadheat"
        folders = [self.folder / name for name in "ab"]
        for folder in folders:
            self.run_all([tool, "run", "--mode", "record", "--quiet", "--out", folder, "--", program])
        self.assertEqual(self.run_all([tool, "replay", *folders]).count("100 % verified"), 2)
        self.assertEqual(self.run_all([tool, "recording", "check", *folders]).count("nothing wrong"), 2)
        # The worst decides, and the others are done all the same.
        (folders[0] / "log").write_bytes(b"DHLOG")
        for command in (["replay"], ["recording", "check"]):
            done = subprocess.run([tool, *command, *folders], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertTrue("100 % verified" in done.stdout or "nothing wrong" in done.stdout)

    def test_a_stored_recording_of_version_1_is_replayed_and_analysed(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-1.dh", BUILD / "bin" / "deadheat"
        self.assertIn("3 threads, 64 regions, 153 values read (66 from the log), 36 stores: 100 % verified",
                      self.run_all([tool, "replay", stored]))
        self.expect_finding(tool, stored)

    def test_a_stored_recording_of_version_2_is_replayed_and_analysed(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-2.dh", BUILD / "bin" / "deadheat"
        self.assertIn("100 % verified", self.run_all([tool, "replay", stored]))
        self.expect_finding(tool, stored)

    def test_a_stored_recording_of_version_3_is_replayed_and_analysed(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-3.dh", BUILD / "bin" / "deadheat"
        self.assertIn("100 % verified", self.run_all([tool, "replay", stored]))
        self.assertIn("read, #", self.run_all([tool, "recording", "dump", stored]))
        self.expect_finding(tool, stored)

    def test_a_stored_recording_of_version_4_is_replayed_and_analysed(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-4.dh", BUILD / "bin" / "deadheat"
        self.assertIn("3 threads, 89 regions, 153 values read (57 from the log), 36 stores: 100 % verified",
                      self.run_all([tool, "replay", stored]))
        self.expect_finding(tool, stored)

    def expect_finding(self, tool, stored):
        done = subprocess.run([tool, "analyze", "--json", "-", "--quiet", stored], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 66, done.stderr)
        findings = json.loads(done.stdout)["findings"]
        self.assertEqual([(f["variable"]["name"], f["accesses"][0]["location"]["line"]) for f in findings], [("statistics", 19)])

    def test_every_detector_runs_on_a_recording(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-1.dh", BUILD / "bin" / "deadheat"
        for detector in ("fasttrack", "hb", "shb", "wcp", "syncp", "lockset", "hybrid", "cp", "mcm", "rdit", "spans|fasttrack",
                         "tree|hybrid"):
            with self.subTest(detector):
                done = subprocess.run([tool, "analyze", "--detectors", detector, "--json", "-", "--quiet", stored],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 66, done.stderr)
                self.assertIn("statistics", [f["variable"]["name"] for f in json.loads(done.stdout)["findings"]])

    def test_a_recording_of_another_version_is_refused(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-1.dh", BUILD / "bin" / "deadheat"
        later = self.folder / "later.dh"
        shutil.copytree(stored, later)
        description = json.loads((later / "recording.json").read_text())
        (later / "recording.json").write_text(json.dumps({**description, "format": 5}))
        for command in ("replay", "analyze"):
            done = subprocess.run([tool, command, later], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn("version", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_module_that_is_missing(self):
        stored, tool = SOURCES.parent.parent / "recordings" / "version-1.dh", BUILD / "bin" / "deadheat"
        lacking = self.folder / "lacking.dh"
        shutil.copytree(stored, lacking)
        module = next(lacking.glob("modules/*.bc"))
        module.unlink()
        for command in ("replay", "analyze"):
            done = subprocess.run([tool, command, lacking], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{module.name}: missing", done.stderr)

    def test_the_last_region_of_a_process_that_ends_in_order_is_verified(self):
        self.verify(self.compile("naked.c", "naked", "-O1"))
        lines = self.run_all([BUILD / "bin" / "deadheat", "recording", "dump", "--thread", "0", self.folder / "recording"]).splitlines()
        self.assertIn("thread finishing", lines[-2])
        self.assertIn("end", lines[-1])

    def test_a_program_that_is_simply_run_and_ended_by_a_signal_it_catches(self):
        program = self.compile("caught.c", "caught", "-O1")
        tool = BUILD / "bin" / "deadheat"
        for how, code in (("flag", 7), ("raise", -signal.SIGTERM), ("exit", 8), ("_exit", 9)):
            with self.subTest(how):
                recording = self.folder / f"{how}.dh"
                process = subprocess.Popen([program, how], stdout=subprocess.PIPE,
                                           env={**os.environ, "DEADHEAT_OPTIONS": f"record={recording} tool={tool}"})
                self.assertEqual(process.stdout.readline(), b"up\n")
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, code)
                self.assertIn(f"exit code {code}" if code > 0 else f"ended by signal {-code}",
                              self.run_all([tool, "recording", "check", recording]))
                self.assertIn("100 % verified", self.run_all([tool, "replay", recording]))

    def test_faults_that_the_program_handles(self):
        for level in ("-O0", "-O1", "-O2", "-O3"):
            self.verify(self.compile("faults.c", "faults" + level, level))

    def test_naked_functions(self):
        for level in ("-O0", "-O2"):
            self.verify(self.compile("naked.c", "naked" + level, level))


if __name__ == "__main__":
    unittest.main()
