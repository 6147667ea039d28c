"""Recordings from the command line: run --mode record, record-writer, recording stat, check and dump.

    recording_test.py DEADHEAT FAKE_RECORDED [unittest arguments]
"""
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEADHEAT, FAKE = (os.path.abspath(path) for path in sys.argv[1:3])
RECORD_ABI = os.path.join(os.path.dirname(__file__), "../../src/runtime/record_abi.h")
with open(RECORD_ABI, encoding="utf-8") as header:
    ARENA_VERSION = int(re.search(r"#define DEADHEAT_RECORD_ABI_VERSION (\d+)u", header.read())[1])


class RecordingTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="recording-test-")
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("DEADHEAT")}
        self.environment["TMPDIR"] = self.tmp

    def tearDown(self):
        self.assertEqual(os.listdir(self.tmp), [], "a temporary folder was left behind")
        shutil.rmtree(self.folder)

    def deadheat(self, *words, stdin=b"", **more):
        done = subprocess.run([DEADHEAT, *words], input=stdin, capture_output=True, cwd=self.folder, timeout=60,
                              env=self.environment, **more)
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        return done.returncode

    def record(self, *words, options=(), **more):
        return self.deadheat("run", "--mode", "record", "--out", "r", *options, "--", FAKE, *words, **more)

    def path(self, name):
        return os.path.join(self.folder, name)

    def json(self, name):
        with open(self.path(name)) as file:
            return json.load(file)

    def assert_sound(self, *expected, name="r"):
        self.assertEqual(self.deadheat("recording", "check", name), 0, self.err)
        self.assertIn("nothing wrong", self.out)
        for text in expected:
            self.assertIn(text, self.out + self.err)


class Run(RecordingTest):
    def test_a_program_is_recorded_and_keeps_its_output_and_exit_code(self):
        self.assertEqual(self.record("print", "hello", "threads", "3", "exit", "7"), 7)
        self.assertEqual(self.out, "hello, descriptor 3\n", "the program's own descriptors are numbered as ever")
        self.assertIn("deadheat: recorded 4 threads, 36 sequencers, ", self.err)
        self.assertIn(" in r\n", self.err)
        self.assertEqual(self.err.count("\n"), 1, self.err)
        self.assertEqual(sorted(os.listdir(self.path("r"))), ["end.json", "log", "modules", "recording.json"])
        end, description = self.json("r/end.json"), self.json("r/recording.json")
        self.assertEqual((end["exit"], end["signal"], end["threads"], end["sequencers"]), (7, 0, 4, 36))
        self.assertEqual(end["reason"], "program ended")
        self.assertEqual(end["log_bytes"], os.path.getsize(self.path("r/log")))
        self.assertEqual(description["command"], [FAKE, "print", "hello", "threads", "3", "exit", "7"])
        self.assertEqual(os.path.realpath(description["folder"]), os.path.realpath(self.folder))
        self.assertGreater(description["pid"], 1)
        self.assert_sound("4 threads", "exit code 7")

    def test_a_reader_that_has_seen_enough_is_no_error(self):
        self.assertEqual(self.record("threads", "2", "values", "100000"), 0)
        dump = subprocess.Popen([DEADHEAT, "recording", "dump", "r"], cwd=self.folder, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        dump.stdout.read(100)
        dump.stdout.close()
        self.assertEqual(dump.stderr.read(), b"")
        dump.stderr.close()
        self.assertEqual(dump.wait(60), 128 + signal.SIGPIPE)

    def test_quiet_and_json(self):
        self.assertEqual(self.record(options=["--quiet", "--json", "out.json"]), 0)
        self.assertEqual(self.err, "")
        report = self.json("out.json")
        self.assertEqual((report["mode"], report["findings"], report["program"]["exit"]), ("record", [], 0))
        self.assertEqual(report["statistics"]["recording"], os.path.realpath(self.path("r")))
        self.assertEqual(report["statistics"]["threads"], 1)
        self.assertEqual(report["statistics"]["stopped"], "program ended")

    def test_a_killed_program_is_recorded_up_to_there(self):
        self.assertEqual(self.record("threads", "2", "signal", "9"), 128 + 9)
        self.assertEqual(self.json("r/end.json")["signal"], 9)
        self.assert_sound("ended by signal 9")
        self.deadheat("recording", "stat", "r")
        self.assertIn("cut off", self.out)

    def test_signals_reach_the_program(self):
        process = subprocess.Popen([DEADHEAT, "run", "--mode", "record", "--out", "r", "--", FAKE, "print", "up", "sleep", "20000"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + 15)
        self.assertIn(b"recorded 1 thread", err)
        self.assert_sound("ended by signal 15")

    def test_what_is_there_is_not_overwritten(self):
        self.assertEqual(self.record(), 0)
        before = self.json("r/recording.json")["pid"]
        self.assertEqual(self.record(), 2)
        self.assertIn("r: there is a recording already; --force replaces it", self.err)
        self.assertEqual(self.json("r/recording.json")["pid"], before)
        self.assertEqual(self.record(options=["--force"]), 0)
        self.assertNotEqual(self.json("r/recording.json")["pid"], before)
        with open(self.path("r/mine.txt"), "w"):
            pass
        self.assertEqual(self.record(options=["--force"]), 2)
        self.assertIn("found mine.txt in it", self.err)
        self.assertTrue(os.path.exists(self.path("r/log")))

    def test_a_program_that_is_not_instrumented(self):
        self.assertEqual(self.deadheat("run", "--mode", "record", "--out", "r", "--", "false"), 2)
        self.assertIn("false: nothing was recorded: it is not instrumented for recording", self.err)
        self.assertEqual(self.err.count("\n"), 1)
        self.assertFalse(os.path.exists(self.path("r")), "nothing is left of it")

    def test_a_program_that_cannot_be_started(self):
        with open(self.path("x"), "w"):
            pass
        self.assertEqual(self.deadheat("run", "--mode", "record", "--out", "r", "--", "./x"), 2)
        self.assertIn("cannot be started", self.err)
        self.assertFalse(os.path.exists(self.path("r")))

    def test_usage(self):
        self.assertEqual(self.deadheat("run", "--mode", "record", "--", FAKE), 2)
        self.assertIn("add --out DIR", self.err)
        for option in (["--out", "r"], ["--limit", "1M"], ["--force"]):
            self.assertEqual(self.deadheat("run", *option, "--", FAKE), 2)
            self.assertIn(option[0] + ": only a recording has it", self.err)
        self.assertEqual(self.record(options=["--limit", "lots"]), 2)
        self.assertIn("--limit", self.err)
        self.assertFalse(os.path.exists(self.path("r")))

    def test_a_folder_with_blanks_and_colons(self):
        name = "my folder: of:recordings/r"
        self.assertEqual(self.deadheat("run", "--mode", "record", "--out", name, "--", FAKE), 0, self.err)
        self.assert_sound(name=name)
        self.assertTrue(os.path.exists(self.path(name + "/modules/0.map")))

    def test_no_permission(self):
        os.mkdir(self.path("closed"))
        os.chmod(self.path("closed"), 0o555)
        # Root may write everywhere. Another user may perhaps not even execute what stands in root's folder.
        powerless = ["setpriv", "--bounding-set=-all", "--"] if os.geteuid() == 0 else []
        done = subprocess.run([*powerless, DEADHEAT, "run", "--mode", "record", "--out", "closed/r", "--", FAKE],
                              capture_output=True, text=True, cwd=self.folder, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("closed/r: cannot be created: Permission denied", done.stderr)

    def test_something_that_the_program_starts_is_recorded(self):
        self.assertEqual(self.deadheat("run", "--mode", "record", "--out", "r", "--", "sh", "-c", FAKE + " exit 4; exit 9"), 9)
        self.assertEqual(self.json("r/end.json")["exit"], 4)
        self.assert_sound("exit code 4")

    def test_a_program_that_outlives_what_was_run(self):
        started = time.monotonic()
        self.assertEqual(self.deadheat("run", "--mode", "record", "--out", "r", "--", "sh", "-c",
                                       FAKE + " until-stopped >/dev/null 2>&1 & sleep 0.3"), 0)
        self.assertIn("the recorded process still runs", self.err)
        self.assertLess(time.monotonic() - started, 20)
        self.assertEqual(self.json("r/end.json")["reason"], "writer gone")
        self.assert_sound("the program went on")

    def test_the_limit(self):
        self.assertEqual(self.record("until-stopped", "exit", "5", options=["--limit", "1M"]), 5)
        self.assertIn("the limit was reached", self.err)
        self.assertEqual(self.json("r/end.json")["reason"], "limit")
        self.assertLess(os.path.getsize(self.path("r/log")), 3 << 20)
        self.assertGreater(os.path.getsize(self.path("r/log")), 900 << 10)
        self.assert_sound("stopped at its limit; exit code 5")

    def test_a_limit_of_file_sizes(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, resource.RLIM_INFINITY))
        self.assertEqual(self.deadheat("run", "--mode", "record", "--out", "r", "--", "sh", "-c",
                                       "ulimit -S -f unlimited; exec " + FAKE + " until-stopped exit 6", preexec_fn=limit), 6)
        self.assertIn("r/log: cannot be written: File too large: recording stopped there; what was written is valid", self.err)
        self.assert_sound("stopped: the disk was full; exit code 6")

    def test_a_full_disk(self):
        libc = ctypes.CDLL(None, use_errno=True)
        os.mkdir(self.path("disk"))
        if libc.mount(b"none", self.path("disk").encode(), b"tmpfs", 0, b"size=1m") != 0:
            self.skipTest("no tmpfs can be mounted")
        try:
            self.assertEqual(self.deadheat("run", "--mode", "record", "--out", "disk/r", "--", FAKE, "until-stopped", "exit", "6"), 6)
            self.assertIn("disk/r/log: cannot be written: No space left on device", self.err)
            self.assert_sound("stopped: the disk was full; exit code 6", name="disk/r")
            self.assertEqual(sorted(os.listdir(self.path("disk/r"))), ["end.json", "log", "modules", "recording.json"])
        finally:
            libc.umount2(self.path("disk").encode(), 2)

    def test_a_killed_tool_leaves_what_it_had_written(self):
        process = subprocess.Popen([DEADHEAT, "run", "--mode", "record", "--out", "r", "--", FAKE, "values", "200000", "threads", "1",
                                    "print", "up", "sleep", "700"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.4)
        process.kill()
        process.communicate(timeout=30)
        self.assertFalse(os.path.exists(self.path("r/end.json")))
        self.assert_sound("2 threads", "incomplete: r: cut short: the writer did not get to the end")

    def test_few_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        self.assertEqual(self.record("print", "x", preexec_fn=limit), 0, self.err)
        self.assert_sound()


class Writer(RecordingTest):
    """What the runtime does when a program is simply run: a writer that is nobody's child."""

    def start(self, words, folder="r"):
        arena = os.memfd_create("arena", 0)
        os.ftruncate(arena, 4096)
        os.pwrite(arena, (0x616e657261686400).to_bytes(8, "little") + ARENA_VERSION.to_bytes(4, "little"), 0)
        os.makedirs(self.path(folder + "/modules"), exist_ok=True)
        environment = {**self.environment, "DEADHEAT_OPTIONS": f"record={self.path(folder)} arena={arena}"}
        program = subprocess.Popen([FAKE, *words], env=environment, pass_fds=[arena], stdout=subprocess.PIPE)
        writer = subprocess.Popen([DEADHEAT, "record-writer", "--arena-of", f"{program.pid}:{arena}", self.path(folder)],
                                  env=self.environment, pass_fds=[arena], stderr=subprocess.PIPE)
        os.close(arena)
        return program, writer

    def end(self, program, writer):
        program.communicate(timeout=30)
        _, err = writer.communicate(timeout=30)
        self.err = err.decode()
        return writer.returncode

    def test_a_program_that_is_simply_run(self):
        program, writer = self.start(["threads", "2", "exit", "3"])
        self.assertEqual(self.end(program, writer), 0, self.err)
        self.assertEqual(program.returncode, 3)
        self.assertEqual(self.json("r/end.json")["exit"], 3)
        self.assert_sound("3 threads", "exit code 3")

    def test_it_outlives_signals(self):
        program, writer = self.start(["print", "x", "sleep", "700", "exit", "3"])
        program.stdout.readline()
        time.sleep(0.3)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            writer.send_signal(number)
        self.assertEqual(self.end(program, writer), 0, self.err)
        self.assertEqual(self.json("r/end.json")["reason"], "program ended")

    def test_a_program_that_is_gone_before_the_writer_comes(self):
        program, writer = self.start(["exit", "0"])
        self.assertEqual(self.end(program, writer), 0, self.err)
        self.assert_sound("1 threads")

    def test_a_killed_program(self):
        program, writer = self.start(["signal", "9"])
        self.assertEqual(self.end(program, writer), 0, self.err)
        self.deadheat("recording", "stat", "r")
        self.assertIn("cut off", self.out)

    def test_a_folder_that_has_a_recording_is_left_alone(self):
        self.assertEqual(self.record(), 0)
        before = self.json("r/recording.json")["pid"]
        program, writer = self.start(["until-stopped"])
        self.assertEqual(self.end(program, writer), 2)
        self.assertIn("there is a recording already", self.err)
        self.assertEqual(program.returncode, 0, "the program goes on")
        self.assertEqual(self.json("r/recording.json")["pid"], before)

    def test_usage(self):
        for words in (["x"], ["--arena-of", "1", "x"], ["--arena-of", "a:b", "x"], ["--arena-of", "0:3", "x"],
                      ["--arena-of", "999999999:7", "x"], ["--arena-of", f"{os.getpid()}:1", "x"]):
            self.assertEqual(self.deadheat("record-writer", *words), 2, words)
        self.assertFalse(os.path.exists(self.path("x")))


class Look(RecordingTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.record("values", "150", "threads", "2", "exit", "7"), 7)

    def test_stat(self):
        self.assertEqual(self.deadheat("recording", "stat", "r"), 0)
        for pattern in (r"command +\S*fake_recorded values 150 threads 2 exit 7\n", r"ended +exit code 7\n", r"threads +3\n",
                        r"modules +1  1 loadings, 1 functions, 1 globals\n", r"sequencers +8\n",
                        r"values +3050  90.16 % predicted, 300 logged\n", r"log bytes +\d+  \d+\.\d\d bits a value, \d+ chunks\n",
                        r"lock acquired +4\n", r"thread started +2\n", r"thread created +2\n",
                        r"\n +2 +1525 +90.16 % +3 +\d+ +\d+  thread ended\n", r"process ended\n"):
            self.assertRegex(self.out, pattern)

    def test_dump(self):
        self.assertEqual(self.deadheat("recording", "dump", "r"), 0)
        lines = self.out.splitlines()
        numbers = [int(line.split("#")[1].split()[0]) for line in lines if "#" in line]
        self.assertEqual(numbers, list(range(8)), "in the order of their numbers")
        self.assertEqual(sum("value8 0x" in line for line in lines), 300)
        self.assertEqual(sum("end: thread ended" in line for line in lines), 2)
        self.assertRegex(self.out, r"\n +1 +#\d+ lock acquired 0x1000, hash 0000\n")
        self.assertRegex(self.out, r"\n +1 +\+7 value8 0x")
        self.assertEqual(self.deadheat("recording", "dump", "--thread", "2", "--limit", "5", "r"), 0)
        self.assertEqual(len(self.out.splitlines()), 5)
        self.assertTrue(all(line.split()[0] == "2" for line in self.out.splitlines()))
        self.assertEqual(self.deadheat("recording", "dump", "--thread", "3", "r"), 2)
        self.assertIn("it has no thread 3", self.err)

    def test_damage(self):
        with open(self.path("r/log"), "r+b") as file:
            file.seek(40)
            byte = file.read(1)
            file.seek(40)
            file.write(bytes([byte[0] ^ 4]))
        for command in ("check", "stat", "dump"):
            self.assertEqual(self.deadheat("recording", command, "r"), 2, command)
            self.assertRegex(self.err, r"r/log: damaged at byte 16: expected .* found ")

    def test_cut_short(self):
        os.unlink(self.path("r/end.json"))
        with open(self.path("r/log"), "r+b") as file:
            file.truncate(os.path.getsize(self.path("r/log")) - 1)
        for command in ("check", "stat", "dump"):
            self.assertEqual(self.deadheat("recording", command, "r"), 0, command)
            self.assertRegex(self.err, r"incomplete: r/log: cut short at byte \d+: half a chunk")

    def test_bitcode_is_checked(self):
        with open(self.path("r/modules/2d06800538d394c2.bc"), "w") as file:
            file.write("x")
        self.assertEqual(self.deadheat("recording", "check", "r"), 2)
        self.assertIn("expected bitcode with the hash 2d06800538d394c2", self.err)

    def test_moved_recordings_are_read(self):
        shutil.move(self.path("r"), self.path("elsewhere"))
        self.assert_sound(name="elsewhere")

    def test_usage(self):
        self.assertEqual(self.deadheat("recording"), 2)
        self.assertEqual(self.deadheat("recording", "stat"), 2)
        self.assertEqual(self.deadheat("recording", "stat", "missing"), 2)
        self.assertIn("missing: cannot be read: No such file", self.err)
        self.assertEqual(self.deadheat("recording", "stat", FAKE), 2)
        self.assertIn("expected a recording (a folder), found a file", self.err)
        self.assertEqual(self.deadheat("recording", "stat", self.folder), 2)
        self.assertIn("not a recording", self.err)
        self.assertEqual(self.deadheat("help", "recording"), 0)
        self.assertIn("deadheat recording check bank.dh", self.out)

    def test_while_it_is_recorded(self):
        process = subprocess.Popen([DEADHEAT, "run", "--mode", "record", "--out", "live", "--", FAKE, "print", "up", "sleep", "3500"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        self.assertEqual(self.deadheat("recording", "check", "live"), 0)
        self.assertIn("still being recorded", self.out)
        process.communicate(timeout=30)
        self.assert_sound("exit code 0", name="live")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
