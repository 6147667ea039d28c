"""Long work and unusual input of `deadheat analyze` and `deadheat trace`: Ctrl-C, budgets, progress, pipes, bad traces.

    trace_cli_test.py DEADHEAT [unittest arguments]
"""
import json
import os
import pty
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DEADHEAT = os.path.abspath(sys.argv[1])
SLACK = 8 if "--slow" in sys.argv else 3  # seconds that a loaded machine or a sanitizer may need on top

HELLO = """main|fork(T1)|1
main|fork(T2)|2
T1|acq(m)|3
T1|w(x)=5|4
T1|rel(m)|5
T2|acq(m)|6
T2|w(y)=1|7
T2|rel(m)|8
T2|r(x)=5|9
"""


def random_trace(path, events, threads=8, places=5000, locations=100, locks=8):
    """Accesses and critical sections without any discipline: every pair of places is a candidate."""
    draw = random.Random(1)
    held, owner = {t: [] for t in range(threads)}, {}
    with open(path, "w") as file:
        written = 0
        while written < events:
            thread, kind, place = draw.randrange(threads), draw.random(), draw.randrange(places)
            if kind < 0.1:
                lock = draw.randrange(locks)
                if lock in owner:
                    continue
                owner[lock] = thread
                held[thread].append(lock)
                operation = f"acq(l{lock})"
            elif kind < 0.2 and held[thread]:
                lock = held[thread].pop()
                del owner[lock]
                operation = f"rel(l{lock})"
            else:
                operation = f"{draw.choice('rrw')}(x{draw.randrange(locations)})"
            file.write(f"T{thread}|{operation}|{place}\n")
            written += 1


class TraceCliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="trace-cli-")
        cls.chaos = os.path.join(cls.shared, "chaos.std")
        random_trace(cls.chaos, 100_000)
        with open(cls.chaos) as file:
            cls.chaos_threads = [line.split("|")[0] for line in file]
        counts = {}
        cls.chaos_position = []  # of each event, among those of its thread
        for thread in cls.chaos_threads:
            cls.chaos_position.append(counts.get(thread, 0))
            counts[thread] = counts.get(thread, 0) + 1

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="trace-cli-test-")
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        self.environment = {**os.environ, "TMPDIR": self.tmp}

    def tearDown(self):
        self.assertEqual(os.listdir(self.tmp), [], "a temporary folder was left behind")
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def deadheat(self, *words, stdin=b"", limit_memory=None):
        def limit():
            if limit_memory:
                resource.setrlimit(resource.RLIMIT_AS, (limit_memory, limit_memory))
        started = time.monotonic()
        done = subprocess.run([DEADHEAT, *words], input=stdin, capture_output=True, cwd=self.folder, timeout=120,
                              env=self.environment, preexec_fn=limit)
        self.seconds = time.monotonic() - started
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        return done.returncode

    def interrupted(self, *words, after=0.4, times=1):
        """Runs, sends Ctrl-C; the seconds from there to the end are in self.seconds."""
        process = subprocess.Popen([DEADHEAT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment)
        time.sleep(after)
        started = time.monotonic()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.seconds = time.monotonic() - started
        self.out, self.err = out.decode(), err.decode()
        return process.returncode


class Budgets(TraceCliTest):
    def test_solver_seconds_bound_the_whole_detector(self):
        code = self.deadheat("analyze", "--detectors", "mcm", "--solver-seconds", "1", "--quiet", "--json", "out.json",
                             "--jobs", "2", self.chaos)
        self.assertLess(self.seconds, 1 + SLACK)
        report = json.loads(self.read("out.json"))
        self.assertEqual(code, 66 if report["findings"] else 0)
        self.assertGreater(int(report["statistics"]["mcm: mcm undecided"]), 100_000)
        self.assertEqual(int(report["statistics"]["mcm: mcm complete"]), 0)

    def test_no_time_for_the_model_still_counts_what_is_left(self):
        self.deadheat("analyze", "--detectors", "mcm", "--solver-seconds", "0.01", self.chaos)
        self.assertLess(self.seconds, SLACK)
        self.assertRegex(self.err, r"incomplete: mcm was still preparing; left (at least )?\d{4,} pairs of places undecided")

    def test_thousands_of_locks(self):
        """Each access under a lock of its own: not thousands of pairs of groups; and beneath one lock: none."""
        for outer, findings in (("", 1), ("l", 0)):
            with open(self.path("locks.std"), "w") as file:
                for i in range(30_000):
                    thread = f"T{i % 8}"
                    around = [f"{thread}|acq(l)|1\n", f"{thread}|rel(l)|5\n"] if outer else ["", ""]
                    file.write(f"{around[0]}{thread}|acq(l{i})|2\n{thread}|w(x)|3\n{thread}|rel(l{i})|4\n{around[1]}")
            self.deadheat("analyze", "--detectors", "mcm", "--quiet", "--json", "out.json", "locks.std")
            self.assertLess(self.seconds, SLACK)
            report = json.loads(self.read("out.json"))
            self.assertEqual(len(report["findings"]), findings)
            self.assertEqual(int(report["statistics"]["mcm: mcm complete"]), 1)

    def test_nested_calls_take_linear_time(self):
        for sets in ("same", "different"):
            lines = ["T0|w(y)|1\nT1|w(y)|2\n"]
            count = 60_000
            lines += [f"T0|enter(f;x{i if sets == 'different' else ''})|{i + 10}\n" for i in range(count)]
            lines += ["T1|w(x)|3\n"] + [f"T0|leave(f)|{i + 10}\n" for i in range(count)]
            self.write("nested.std", "".join(lines) + "T0|w(z)|4\nT1|w(z)|5\n")
            self.assertEqual(self.deadheat("analyze", "--detectors", "rdit", "nested.std"), 66)
            self.assertLess(self.seconds, SLACK)
            self.assertNotIn("incomplete", self.err)

    def test_solver_memory_is_kept(self):
        code = self.deadheat("analyze", "--detectors", "mcm", "--solver-memory", "60M", "--solver-seconds", "20", "--json", "out.json", self.chaos)
        self.assertIn(code, (0, 66))
        self.assertTrue(json.loads(self.read("out.json"))["summary"]["incomplete"])
        self.assertLess(self.peak_of("analyze", "--detectors", "mcm", "--solver-memory", "60M", "--solver-seconds", "20",
                                     "--quiet", self.chaos), 160 << 20)

    def peak_of(self, *words):
        """Bytes resident at most, by a process of its own that waits for it."""
        script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", script, DEADHEAT, *words], capture_output=True, env=self.environment)
        return int(done.stdout.split()[-1]) * 1024

    def test_a_wrong_budget(self):
        for value in ("0", "-1", "nan", "inf", "soon"):
            self.assertEqual(self.deadheat("analyze", f"--solver-seconds={value}", self.chaos), 2)
            self.assertIn("--solver-seconds", self.err)
            self.assertIn(f'expected a number above 0, found "{value}"', self.err)
            self.assertLess(len(self.err), 300)


    def test_a_message_of_thousands_of_threads(self):
        with open(self.path("barrier.std"), "w") as file:
            n = 3_000
            file.writelines(f"main|fork(T{i})|1\n" for i in range(n))
            file.writelines(f"T{i}|snd(b)|2\n" for i in range(n))
            file.writelines(f"T{i}|rcv(b)|3\n" for i in range(n))
            file.write("T0|w(x)|4\nT1|w(x)|5\n")
        self.assertIn(self.deadheat("analyze", "--detectors", "mcm", "--solver-seconds", "2", "barrier.std"), (0, 66), self.err)
        self.assertLess(self.seconds, 4 * SLACK)

    def test_many_calls_that_reach_the_same(self):
        reached = ",".join(f"v{i}" for i in range(3_000))
        with open(self.path("reach.std"), "w") as file:
            file.write(f"T5|enter(g;{reached})|7\n")  # never left: the first call of all is never done
            for k in range(2_000):
                file.write(f"T{k % 4}|enter(f;{reached})|1\nT{k % 4}|leave(f)|3\n")
            file.write("T0|w(z)|4\nT1|w(z)|5\nT6|w(z)|6\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "rdit", "reach.std"), 66, self.err)
        self.assertIn("data race on z", self.err)
        self.assertNotIn("incomplete", self.err)
        self.assertLess(self.seconds, 2 * SLACK)
        self.deadheat("analyze", "--detectors", "rdit", "--solver-seconds", "0.2", "reach.std")
        self.assertLess(self.seconds, 1 + SLACK)

    def test_what_the_memory_does_not_allow_is_counted(self):
        with open(self.path("threads.std"), "w") as file:
            file.writelines(f"T{i}|w(x)|{i % 50}\n" for i in range(50_000))
        for detector in ("mcm", "rdit"):
            self.assertEqual(self.deadheat("analyze", "--detectors", detector, "--quiet", "threads.std"), 2)
            self.assertRegex(self.err, r"expected to need at most 8192 MB .*; (at least )?\d+ pairs of places undecided\n$")
            # What another detector has found is reported, with what is missing.
            self.assertEqual(self.deadheat("analyze", "--detectors", detector + ",fasttrack", "--json", "out.json", "threads.std"), 66)
            self.assertIn(f"incomplete: {detector} gave up", self.err)
            statistics = json.loads(self.read("out.json"))["statistics"]
            self.assertEqual(statistics[f"{detector}: {detector} complete"], 0)
            self.assertGreater(int(statistics[f"{detector}: {detector} undecided"]), 100)

    def test_cp_keeps_to_its_time(self):
        with open(self.path("messages.std"), "w") as file:
            file.write("T0|snd(m)|1\nT1|rcv(m)|2\n" * 4_990 + "T0|w(x)|3\nT1|w(x)|4\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "cp", "messages.std"), 66, self.err)
        self.assertLess(self.seconds, 4 * SLACK)
        with open(self.path("sections.std"), "w") as file:
            for i in range(3_300):
                file.write(f"T{i % 1000}|acq(l)|1\nT{i % 1000}|w(x{i % 7})|2\nT{i % 1000}|rel(l)|3\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "cp", "--solver-seconds", "0.001", "sections.std"), 0)
        self.assertIn("incomplete: cp decided nothing", self.err)
        self.assertLess(self.seconds, 2 * SLACK)


class ControlC(TraceCliTest):
    def test_while_what_is_shown_is_looked_up(self):
        # The race is at the end of a long trace: a second reading for its locks.
        with open(self.path("long.std"), "w") as file:
            file.write("T1|w(y)|1\n" + "T0|acq(l)|2\nT0|w(x)|3\nT0|rel(l)|4\n" * 700_000 + "T0|w(y)|5\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "fasttrack", "long.std"), 66)
        whole = self.seconds
        self.assertIn("holds no lock", self.err)
        code = self.interrupted("analyze", "--detectors", "fasttrack", "long.std", after=whole * 0.75)
        self.assertIn(code, (0, 66), self.err)
        if "looking up" in self.err:
            self.assertIn("; incomplete", self.err)
        self.assertLess(self.seconds, 2 * SLACK)

    def test_in_the_solver_everything_found_so_far_is_reported(self):
        code = self.interrupted("analyze", "--detectors", "mcm", "--json", "out.json", self.chaos, after=2)
        self.assertEqual(code, 66)
        self.assertLess(self.seconds, SLACK)
        self.assertRegex(self.err, r"incomplete: mcm left (at least )?\d+ pairs of places undecided when it was interrupted")
        self.assertRegex(self.err, r"\d+ findings?; incomplete\n$")
        for finding in json.loads(self.read("out.json"))["findings"]:
            self.assertTrue(finding.get("witness") or finding.get("witness_prefix"), finding)
            self.assert_next_after_prefix(finding)

    def assert_next_after_prefix(self, finding):
        """Both accesses are what their threads do next after the prefix of the trace that is the witness."""
        if "witness_prefix" not in finding:
            return
        done = {prefix["thread"]: prefix["events"] for prefix in finding["witness_prefix"]}
        for access in finding["accesses"]:
            thread = self.chaos_threads[access["event"]]
            self.assertEqual(self.chaos_position[access["event"]], done.get(thread, 0), finding)

    def test_while_the_trace_is_read_the_streaming_detector_keeps_its_findings(self):
        # An endless trace: only Ctrl-C ends it.
        os.mkfifo(self.path("endless"))
        feeder = subprocess.Popen([sys.executable, "-c", f"""
import time
with open({self.path('endless')!r}, 'w') as out:
    out.write('T0|w(x)|1\\nT1|w(x)|2\\n')
    while True:
        out.write('T0|w(y)|3\\n' * 1000)
        out.flush()
        time.sleep(0.05)
"""], stderr=subprocess.DEVNULL)
        try:
            code = self.interrupted("analyze", "--detectors", "shb,mcm", "endless", after=1)
        finally:
            feeder.wait(timeout=30)
        self.assertEqual(code, 66)
        self.assertLess(self.seconds, SLACK)
        self.assertIn("data race on x", self.err)
        self.assertIn("incomplete", self.err)

    def test_in_the_middle_of_a_line(self):
        """What has come whole is analysed; nobody knows what the rest would have been."""
        for rest in ("T1|w(", "T1|w(x)|12", "T1|w(y)"):
            for detectors in ("mcm", "hb", "fasttrack,shb", "syncp"):
                process = subprocess.Popen([DEADHEAT, "analyze", "--detectors", detectors, "-"], stdin=subprocess.PIPE,
                                           stderr=subprocess.PIPE, env=self.environment)
                process.stdin.write(b"T0|w(x)|1\nT1|w(x)|2\n" + rest.encode())
                process.stdin.flush()
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                err = process.stderr.read().decode()
                process.stdin.close()
                process.stderr.close()
                self.assertEqual(process.wait(timeout=20), 66, detectors + err)
                self.assertIn("at place 2\n", err)
                self.assertNotIn("place 12", err)
                self.assertIn("1 finding; incomplete", err)
                self.assertIn("holds no lock", err)  # the second look works too

    def test_millions_of_races_are_not_waited_for(self):
        self.assertEqual(self.interrupted("analyze", "--detectors", "hb,syncp,mcm", "--json", "out.json", "--quiet", self.chaos,
                                          after=4), 66)
        self.assertLess(self.seconds, 3 * SLACK)
        report = json.loads(self.read("out.json"))
        self.assertTrue(report["summary"]["incomplete"])
        self.assertLessEqual(len(report["findings"]), 30_000)

    def test_a_report_has_its_name_only_when_it_is_whole(self):
        self.write("out.json", "before")
        os.symlink("out.json", self.path("link.json"))
        process = subprocess.Popen([DEADHEAT, "analyze", "--detectors", "mcm", "--json", "link.json", "--html", "new.html",
                                    self.chaos], cwd=self.folder, stderr=subprocess.DEVNULL, env=self.environment)
        time.sleep(1)
        process.kill()
        process.wait()
        self.assertEqual(self.read("out.json"), "before")
        self.assertFalse(os.path.exists(self.path("new.html")))
        self.write("h.std", HELLO)
        self.assertEqual(self.deadheat("analyze", "--detectors", "mcm", "--json", "link.json", "h.std"), 66)
        self.assertTrue(os.path.islink(self.path("link.json")))
        self.assertEqual(len(json.loads(self.read("out.json"))["findings"]), 1)
        for left in os.listdir(self.tmp):  # it was killed
            shutil.rmtree(os.path.join(self.tmp, left))

    def test_while_missing_code_is_modelled(self):
        with open(self.path("deep.std"), "w") as file:
            for i in range(400_000):
                file.write(f"T0|enter(f;x{i},y{i // 2})|{i}\nT1|w(y{i})|{i}\n")
        self.assertIn(self.interrupted("analyze", "--detectors", "rdit", "--quiet", "deep.std", after=1), (0, 66))
        self.assertLess(self.seconds, SLACK)

    def test_the_same_one_sent_twice_counts_once(self):
        # timeout(1) without --foreground sends it to the process and to its group.
        code = self.interrupted("analyze", "--detectors", "mcm", self.chaos, after=1.5, times=2)
        self.assertEqual(code, 66)
        self.assertIn("incomplete", self.err)
        done = subprocess.run(["timeout", "-s", "INT", "1.5", DEADHEAT, "analyze", "--detectors", "mcm", self.chaos],
                              capture_output=True, timeout=60, env=self.environment)
        self.assertIn(b"incomplete", done.stderr)
        self.assertEqual(done.returncode, 124)  # timeout's own; the report is there

    def test_a_second_one_later_ends_at_once(self):
        # Standard error is a full pipe that nobody reads, so that it cannot end by itself.
        process = subprocess.Popen([DEADHEAT, "analyze", "--detectors", "shb", self.chaos], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(1.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), -signal.SIGINT)
        process.stdout.close()
        process.stderr.close()

    def test_a_conversion_leaves_nothing_behind(self):
        os.mkfifo(self.path("slow"))
        process = subprocess.Popen([DEADHEAT, "trace", "convert", self.chaos, "out.dht"], cwd=self.folder,
                                   stderr=subprocess.PIPE, env=self.environment)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        left = set(os.listdir(self.folder)) - {"tmp", "slow"}
        self.assertIn(left, (set(), {"out.dht"}))  # it may have been done already


class ProgressLine(TraceCliTest):
    def on_a_terminal(self, *words):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(DEADHEAT, [DEADHEAT, *words], self.environment)
        text = b""
        while True:
            ready, _, _ = select.select([terminal], [], [], 60)
            try:
                got = os.read(terminal, 65536) if ready else b""
            except OSError:
                got = b""
            if not got:
                break
            text += got
        os.close(terminal)
        os.waitpid(pid, 0)
        return text.decode(errors="replace")

    def test_on_a_terminal_after_a_second_and_gone_at_the_end(self):
        text = self.on_a_terminal("analyze", "--detectors", "mcm", "--solver-seconds", "2", "--no-color", self.chaos)
        self.assertRegex(text, r"\r\x1b\[Kdeadheat: solving \d+ %")
        self.assertNotRegex(text[text.rindex("deadheat: solving"):].split("\r\x1b[K", 1)[1], "solving")

    def test_none_for_short_work(self):
        self.write("hello.std", HELLO)
        self.assertNotIn("\x1b[K", self.on_a_terminal("analyze", "--no-color", "hello.std"))

    def test_none_when_not_on_a_terminal_or_quiet(self):
        words = ["analyze", "--detectors", "mcm", "--solver-seconds", "1.5", "--no-color", self.chaos]
        self.deadheat(*words)
        self.assertNotIn("\x1b", self.err)
        self.assertNotIn("solving", self.err)
        self.assertNotIn("solving", self.on_a_terminal(*words, "--quiet"))


class Pipes(TraceCliTest):
    def test_standard_input(self):
        self.assertEqual(self.deadheat("analyze", "--detectors", "mcm", "-", stdin=HELLO.encode()), 66)
        self.assertIn("schedule that shows it", self.err)
        self.assertEqual(self.deadheat("trace", "stat", "-", stdin=HELLO.encode()), 0)
        self.assertIn("standard input: 9 events", self.out)
        self.assertEqual(self.deadheat("trace", "check", "-", stdin=b"T0|rel(l)|1\n"), 2)
        self.assertIn("standard input:1: expected lock 'l' to be held", self.err)

    def test_a_binary_trace_on_standard_input(self):
        self.write("hello.std", HELLO)
        self.assertEqual(self.deadheat("trace", "convert", "hello.std", "hello.dht"), 0)
        with open(self.path("hello.dht"), "rb") as file:
            self.assertEqual(self.deadheat("trace", "convert", "--extended", "-", "-", stdin=file.read()), 0)
        self.assertEqual(self.out, HELLO)

    def test_a_named_pipe(self):
        os.mkfifo(self.path("pipe"))
        self.write("hello.std", HELLO)
        feeder = subprocess.Popen(["sh", "-c", f"cat {self.path('hello.std')} > {self.path('pipe')}"])
        self.assertEqual(self.deadheat("analyze", "pipe"), 66)
        feeder.wait()
        self.assertIn("schedule that shows it", self.err)


    def test_a_streaming_detector_reads_an_endless_pipe(self):
        """Without a copy, and in little memory."""
        code = self.deadheat_fed(["yes", "T1|w(x)|1"], 3, "analyze", "--detectors", "fasttrack,spans|hb", "-")
        self.assertEqual(code, 0, self.err)
        self.assertIn("interrupted after", self.err)
        self.assertEqual(self.most_copied, 0, "a temporary file was written")

    def test_a_copy_is_limited(self):
        code = self.deadheat_fed(["yes", "T1|w(x)|1"], 60, "analyze", "--detectors", "mcm", "--copy-limit", "20M", "-")
        self.assertEqual(code, 2)
        self.assertIn("standard input: expected at most 20 MiB, which a temporary copy may take, found more", self.err)
        self.assertLess(self.most_copied, 22 << 20)
        self.assertEqual(self.deadheat("analyze", "--copy-limit", "much", "-"), 2)

    def test_a_streamed_trace_is_reported_as_a_file_is(self):
        self.write("hello.std", HELLO + "T1|w(x)=6|10\n")
        self.deadheat("trace", "convert", "hello.std", "hello.dht")
        for name in ("hello.std", "hello.dht"):
            for detectors in ("hb", "fasttrack,shb"):
                self.deadheat("analyze", "--detectors", detectors, "--json", "file.json", name)
                with open(self.path(name), "rb") as file:
                    self.assertEqual(self.deadheat("analyze", "--detectors", detectors, "--json", "pipe.json", "-",
                                                   stdin=file.read()), 66)
                expected, found = (json.loads(self.read(part + ".json"))["findings"] for part in ("file", "pipe"))
                self.assertEqual(found, expected)
        with open(self.path("hello.dht"), "rb") as file:
            bytes_of = file.read()
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb", "-", stdin=bytes_of[:-40]), 66)
        self.assertIn("cut short", self.err)

    def test_what_a_long_stream_cannot_show_is_said(self):
        text = "T1|acq(l)|1\nT1|w(x)=1|2\nT2|w(x)=2|3\n" + "T1|r(y)|4\n" * 8_000_000
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb", "--json", "out.json", "-", stdin=text.encode()), 66)
        self.assertIn("standard input was read once, and was too long to keep", self.err)
        accesses = json.loads(self.read("out.json"))["findings"][0]["accesses"]
        self.assertEqual([access["locks_known"] for access in accesses], [False, False])
        self.assertNotIn("holds no lock", self.err)

    def deadheat_fed(self, feeder, seconds, *words):
        """Its input is what another command prints; after so many seconds, Ctrl-C."""
        feeding = subprocess.Popen(feeder, stdout=subprocess.PIPE)
        process = subprocess.Popen([DEADHEAT, *words], stdin=feeding.stdout, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment)
        feeding.stdout.close()
        self.most_copied = 0
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            copied = 0
            for folder, _, names in os.walk(self.tmp):
                for name in names:
                    try:
                        copied += os.path.getsize(os.path.join(folder, name))
                    except FileNotFoundError:
                        pass
            self.most_copied = max(self.most_copied, copied)
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        self.err = process.communicate(timeout=60)[1].decode()
        feeding.wait()
        return process.returncode


class Convert(TraceCliTest):
    def test_in_place(self):
        self.write("a.std", HELLO)
        self.assertEqual(self.deadheat("trace", "convert", "--extended", "a.std", "a.std"), 0)
        self.assertEqual(self.read("a.std"), HELLO)
        self.assertEqual(self.deadheat("trace", "convert", "a.std", "a.std"), 2)
        self.assertIn("a.std: expected another file to write to, or --extended, found that 3 values would be lost", self.err)
        self.assertEqual(self.read("a.std"), HELLO)
        os.symlink("a.std", self.path("link.std"))
        self.assertEqual(self.deadheat("trace", "convert", "a.std", "link.std"), 2)
        self.assertEqual(self.read("a.std"), HELLO)

    def test_names_that_begin_with_a_hash(self):
        text = "T0|w(#x)|1\nT1|w(#x)|2\n"
        self.write("hash.std", text)
        self.assertEqual(self.deadheat("trace", "convert", "hash.std", "hash.dht"), 0, self.err)
        self.assertEqual(self.deadheat("trace", "convert", "hash.dht", "-"), 0, self.err)
        self.assertEqual(self.out, text)

    def test_text_under_a_binary_name(self):
        self.write("text.dht", "T0|w(x)|1\n")
        self.assertEqual(self.deadheat("trace", "check", "text.dht"), 0, self.err)
        self.assertEqual(self.out, "text.dht: 1 event, nothing wrong\n")

    def test_what_is_left_out_is_said(self):
        self.write("a.std", HELLO + "T2|branch|10\n")
        self.assertEqual(self.deadheat("trace", "convert", "a.std", "b.std"), 0)
        self.assertIn("1 event and 3 values left out: plain STD cannot say them; --extended can", self.err)

    def test_a_wrong_line_leaves_no_output(self):
        self.write("a.std", HELLO * 3 + "nonsense\n")
        self.write("b.std", "as it was\n")
        self.assertEqual(self.deadheat("trace", "convert", "a.std", "b.std"), 2)
        self.assertEqual(self.read("b.std"), "as it was\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.std", "b.std", "tmp"])


class Sarif(TraceCliTest):
    def test_structure(self):
        """What the SARIF 2.1.0 schema requires, and what code hosts reject reports without."""
        self.write("hello.std", HELLO)
        self.assertEqual(self.deadheat("analyze", "--sarif", "out.sarif", "hello.std"), 66)
        log = json.loads(self.read("out.sarif"))
        self.assertEqual(log["version"], "2.1.0")
        self.assertIn("sarif-2.1.0", log.get("$schema", "sarif-2.1.0"))
        self.assertEqual(len(log["runs"]), 1)
        run = log["runs"][0]
        driver = run["tool"]["driver"]
        self.assertIsInstance(driver["name"], str)
        rules = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(len(rules), len(set(rules)))
        self.assertGreater(len(run["results"]), 0)
        for result in run["results"]:
            self.assertIn(result["ruleId"], rules)
            if "ruleIndex" in result:
                self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            self.assertIn(result.get("level", "warning"), ("none", "note", "warning", "error"))
            self.assertIsInstance(result["message"]["text"], str)
            self.assertGreater(len(result["message"]["text"]), 0)
            self.assertTrue(all(isinstance(value, str) for value in result["partialFingerprints"].values()))
            for key in ("locations", "relatedLocations"):
                for location in result.get(key, []):
                    self.check_location(location)
            for flow in result.get("codeFlows", []):
                for thread in flow["threadFlows"]:
                    self.assertGreater(len(thread["locations"]), 0)
                    for step in thread["locations"]:
                        self.check_location(step["location"])
            for stack in result.get("stacks", []):
                for frame in stack["frames"]:
                    self.check_location(frame.get("location", {}))

    def check_location(self, location):
        physical = location.get("physicalLocation", {})
        if physical:
            self.assertTrue("artifactLocation" in physical or "address" in physical)
        if "region" in physical:
            self.assertGreaterEqual(physical["region"]["startLine"], 1)
        for logical in location.get("logicalLocations", []):
            self.assertIsInstance(logical.get("name", logical.get("fullyQualifiedName")), str)
        if "message" in location:
            self.assertIsInstance(location["message"]["text"], str)


class Documentation(TraceCliTest):
    def test_the_report_in_the_documentation_is_what_is_printed(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "prediction.md")
        with open(page) as file:
            blocks, block = [], []
            for line in file.read().split("\n"):
                if line.startswith("    ") or (block and line == ""):
                    block.append(line[4:])
                elif block:
                    blocks.append("\n".join(block).strip("\n") + "\n")
                    block = []
        trace = next(block for block in blocks if block.startswith("# T1 publishes"))
        report = next(block for block in blocks if block.startswith("deadheat: data race"))
        self.write("sections.std", trace)
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb,mcm", "sections.std"), 66)
        self.assertEqual(self.err, report)


class UndeliveredOutput(TraceCliTest):
    def test_is_said(self):
        self.write("t.std", "T0|w(x)|1\n")
        for words in (("trace", "stat", "t.std"), ("trace", "check", "t.std"), ("help",), ("trace", "--help")):
            with open("/dev/full", "w") as full:
                done = subprocess.run([DEADHEAT, *words], stdout=full, stderr=subprocess.PIPE, cwd=self.folder, timeout=60)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stderr.decode(), "deadheat: standard output: cannot write: No space left on device\n")


class BadInput(TraceCliTest):
    """Whatever a file holds: an answer or one line, in little memory."""

    def refused(self, expected, *words, limit=1 << 30):
        self.assertEqual(self.deadheat(*words, limit_memory=limit), 2)
        self.assertIn(expected, self.err)
        self.assertEqual(self.err.count("\n"), 1)
        self.assertLess(len(self.err), 1000)

    def test_an_endless_line(self):
        with open(self.path("long.std"), "wb") as file:
            file.write(b"T0|w(x)|1\n")
            for _ in range(64):
                file.write(b"a" * (1 << 20))
        for words in (["analyze"], ["trace", "stat"], ["trace", "check"]):
            self.refused("long.std:2: expected a line of at most", *words, "long.std")

    def test_a_billion_threads_named_in_one_line(self):
        # One name a thread, as long as a line may be.
        with open(self.path("names.std"), "w") as file:
            file.write("T0|enter(f;" + ",".join(f"T{i}" for i in range(1_500_000)) + ")|1\nT0|leave(f)|2\n")
        self.assertEqual(self.deadheat("trace", "stat", "names.std", limit_memory=2 << 30), 0)
        with open(self.path("line.std"), "w") as file:
            file.write("T0|fork(" + "T1)(" * 4_000_000 + ")|1\n")
        self.refused("line.std:1: expected", "analyze", "line.std")
        with open(self.path("number.std"), "w") as file:
            file.write("T999999999|w(x)|1\nT1000000000|w(x)|2\n")
        self.assertEqual(self.deadheat("analyze", "number.std", limit_memory=2 << 30), 66)

    def test_more_threads_than_a_trace_may_have(self):
        with open(self.path("many.std"), "w") as file:
            for i in range(1_048_577):
                file.write(f"T{i}|begin|1\n")
        self.refused("many.std:1048577: expected at most 1048576 threads", "trace", "check", "many.std")

    def test_more_names_than_there_is_memory(self):
        with open(self.path("names.std"), "w") as file:
            for i in range(6_000):
                file.write(f"T0|w({i:060000})|1\n")
        self.refused("expected memory for the names of the trace, found ", "trace", "stat", "names.std", limit=400 << 20)
        self.assertIn("names.std:", self.err)

    def test_names_that_a_terminal_would_obey(self):
        for name in ("\u009b31mx", "\u202ex", "x\u2066", "x\x1b[31m"):
            self.write("name.std", f"T0|w({name})|1\n")
            self.refused("name.std:1: expected a name in w() without control characters, found '", "trace", "check", "name.std")
            self.assertNotIn(name, self.err)
        self.write("name.std", "Größe|w(数値[é])|1\n")
        self.assertEqual(self.deadheat("trace", "check", "name.std"), 0, self.err)

    def test_what_follows_a_location_that_a_call_reaches(self):
        self.write("enter.std", "T0|enter(f;x;y)|1\n")
        self.refused("enter.std:1: expected ',' or ')' after a location, found ';y'", "trace", "check", "enter.std")
        self.write("enter.std", "T0|enter(f;x,)|1\n")
        self.refused("enter.std:1: expected a location after ',', found nothing", "trace", "check", "enter.std")

    def test_values_that_cannot_be(self):
        self.write("values.std", "T0|w(x)|1\nT0|r(x)=7|2\nT0|r(x)=8|3\n")
        self.refused("values.std:3: expected a read of 'x' to see 7, as the read at line 2 did, found 8",
                     "trace", "check", "values.std")

    def test_memory_in_words(self):
        self.write("t.std", "T0|w(x)|1\nT1|w(x)|2\n")
        self.refused("expected state that fits 10 bytes, found ", "analyze", "--detectors", "fasttrack",
                     "--solver-memory", "10", "t.std")

    def test_deep_calls(self):
        with open(self.path("deep.std"), "w") as file:
            file.writelines(f"T0|enter(f;x)|{i}\n" for i in range(300_000))
            file.write("T1|w(x)|1\nT0|w(x)|2\n")
        self.assertIn(self.deadheat("analyze", "--solver-seconds", "5", "deep.std", limit_memory=2 << 30), (0, 66))
        self.assertLess(self.seconds, 5 + SLACK)
        with open(self.path("deeper.std"), "w") as file:
            file.writelines("T0|enter(f;x)|1\n" for _ in range(1_000_001))
        self.refused("deeper.std:1000001: expected at most 1000000 open calls", "trace", "check", "deeper.std")

    def test_binary_damage(self):
        self.write("hello.std", HELLO * 1)
        self.deadheat("trace", "convert", "hello.std", "hello.dht")
        with open(self.path("hello.dht"), "rb") as file:
            good = file.read()
        draw = random.Random(7)
        for _ in range(60):
            damaged = bytearray(good)
            if draw.random() < 0.4:
                del damaged[draw.randrange(1, len(damaged)):]
            else:
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            with open(self.path("bad.dht"), "wb") as file:
                file.write(damaged)
            self.assertIn(self.deadheat("trace", "stat", "bad.dht", limit_memory=1 << 30), (0, 2))


    def test_damage_at_the_end_is_said(self):
        self.write("hello.std", HELLO + "T1|w(x)=6|10\n")
        self.deadheat("trace", "convert", "hello.std", "hello.dht")
        with open(self.path("hello.dht"), "rb") as file:
            good = file.read()
        index = good.rfind(b"DHCK")
        for at in range(index + 48, len(good)):
            damaged = bytearray(good)
            damaged[at] ^= 0x10
            with open(self.path("bad.dht"), "wb") as file:
                file.write(damaged)
            self.assertEqual(self.deadheat("trace", "check", "bad.dht"), 2, at)
            self.assertIn("damaged " + ("trailer" if at >= len(good) - 32 else "index"), self.err)
            if at % 8 == 0:
                self.assertEqual(self.deadheat("analyze", "--quiet", "--detectors", "hb", "bad.dht"), 66, at)
                self.assertIn("incomplete: bad.dht: byte", self.err)
                self.assertIn("all 10 events before it are intact", self.err)
        for more in (good, b"x"):
            with open(self.path("bad.dht"), "wb") as file:
                file.write(good + more)
            for words in (["trace", "check"], ["trace", "stat"], ["analyze"]):
                self.refused("expected the end of the file after its trailer, found more", *words, "bad.dht")
        for length in (len(good) - 1, len(good) - 32, index + 50, index):
            with open(self.path("bad.dht"), "wb") as file:
                file.write(good[:length])
            self.assertEqual(self.deadheat("trace", "check", "bad.dht"), 2)
            self.assertIn("cut short", self.err)

    def test_a_mark_of_the_encoding_is_no_part_of_a_name(self):
        with open(self.path("bom.std"), "wb") as file:
            file.write(b"\xef\xbb\xbfT1|w(x)|1\nT1|w(x)|2\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb", "bom.std"), 0, self.err)

    def test_names_are_not_cut_in_a_character(self):
        with open(self.path("names.std"), "wb") as file:
            file.write(("ä" * 9 + "|w(x)|1\nx" + "ä" * 9 + "|w(x)|1\n").encode())
        self.assertEqual(self.deadheat("trace", "stat", "names.std"), 0)
        self.assertIn(" " + "ä" * 7 + " ", self.out)
        self.assertIn(" x" + "ä" * 6 + " ", self.out)

    def test_usage(self):
        for jobs in ("-3", "257", "40000", "many"):
            self.assertEqual(self.deadheat("analyze", "--jobs", jobs, "x.std"), 2)
            self.assertIn(f'expected a number from 0 to 256, found "{jobs}"', self.err)
        self.deadheat("analyze")
        self.assertIn("analyze: INPUT is required", self.err)
        self.deadheat("trace", "frob")
        self.assertIn('trace: expected one of its subcommands, found "frob"', self.err)


class Findings(TraceCliTest):
    def findings(self, text, detectors):
        self.write("trace.std", text.replace(" ", "\n") + "\n")
        self.assertEqual(self.deadheat("analyze", *(["--detectors", detectors] if detectors else []), "--json", "out.json",
                                       "trace.std"), 66, self.err)
        return json.loads(self.read("out.json"))["findings"]

    def test_a_witness_is_not_lost_to_another_instance(self):
        for detectors in ("", "hb,mcm", "wcp,mcm", "hb,syncp"):
            finding, = self.findings("T0|w(x)|1 T1|w(x)|2 T0|w(x)|1", detectors)
            self.assertIn("witness", finding, detectors)
            self.assertEqual(finding["witness"][-2:], sorted(finding["witness"][-2:]))
            self.assertEqual(set(finding["witness"][-2:]), {access["event"] for access in finding["accesses"]})
        missing = 0
        for seed in range(12):
            draw = random.Random(seed)
            lines = [f"T{draw.randrange(3)}|{draw.choice('rw')}(x{draw.randrange(2)})|{draw.randrange(4)}" for _ in range(12)]
            for finding in self.findings(" ".join(lines), draw.choice(["shb,mcm", "hb,mcm", "wcp,mcm", "hb,syncp"])):
                if {"mcm", "syncp"} & set(finding["detectors"]):
                    missing += "witness" not in finding
        self.assertEqual(missing, 0)

    def test_events_are_of_the_detector_that_means_them(self):
        text = "T0|acq(l1)|4 T0|w(x0)|1 T2|acq(l0)|3 T1|r(x0)|5 T2|r(x0)|1 T1|w(x0)=0|4"
        alone = {tuple(access["location"]["place"] for access in finding["accesses"]): finding
                 for finding in self.findings(text, "mcm")}
        for finding in self.findings(text, "hb,mcm"):
            places = tuple(access["location"]["place"] for access in finding["accesses"])
            if "mcm" in finding["detectors"]:
                self.assertEqual(finding["accesses"], alone[places]["accesses"])
                self.assertEqual(finding["witness"], alone[places]["witness"])

    def test_locks_and_values(self):
        finding, = self.findings("T1|acq(a)|1 T1|acq(c)|1 T1|w(x)=7|2 T2|acq(b)|3 T2|rel(b)|3 T2|acq(b)|3 T2|w(x)=8|4", "fasttrack")
        self.assertEqual([[lock["name"] for lock in access["locks"]] for access in finding["accesses"]], [["a", "c"], ["b"]])
        self.assertEqual([access["value"] for access in finding["accesses"]], ["7", "8"])
        self.assertIn("    holds a\n    holds c\n", self.err)
        self.findings("T1|w(x)|1 T2|w(x)|2", "hb")
        self.assertEqual(self.err.count("    holds no lock\n"), 2)

    def test_thousands_of_locks_held_at_once(self):
        n = 20_000
        with open(self.path("held.std"), "w") as file:
            file.write("T1|w(x)|1\n")
            file.writelines(f"T0|acq(l{i})|2\n" for i in range(n))
            file.write("T0|w(x)|3\n")
            file.writelines(f"T0|rel(l{i})|4\n" for i in range(n))
            file.write("T0|w(y)|5\nT1|w(y)|6\n")
        for detectors in ("fasttrack", "wcp", "lockset,hybrid"):
            code = self.deadheat("analyze", "--quiet", "--solver-memory", "100M", "--detectors", detectors, "--json", "out.json",
                                 "held.std", limit_memory=1 << 30)
            self.assertEqual(code, 66, self.err)
            self.assertLess(self.seconds, 4 * SLACK)
            report = json.loads(self.read("out.json"))
            self.assertFalse(report["summary"]["incomplete"])
            held = [len(access["locks"]) for finding in report["findings"] for access in finding["accesses"]]
            self.assertEqual(sorted(held), [0, 0, 0, n])

    def test_a_witness_shows_calls_as_the_text_format_writes_them(self):
        self.write("calls.std", "T0|enter(g;c)|1\nT0|leave(g)|2\nT0|w(x)|3\nT1|w(x)|4\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "rdit", "calls.std"), 66, self.err)
        self.assertIn("enter(g;c)", self.err)

    def test_what_others_found_is_not_lost_when_one_gives_up(self):
        self.assertEqual(self.deadheat("analyze", "--detectors", "fasttrack,cp", self.chaos), 66)
        self.assertIn("data race on x", self.err)
        self.assertIn("incomplete: cp gave up: ", self.err)
        self.assertEqual(self.deadheat("analyze", "--detectors", "cp", self.chaos), 2)


class Soundness(TraceCliTest):
    def test_tree_is_refused_before_detectors_that_it_would_make_wrong(self):
        self.write("z.std", "T1|w(x)|1\nT1|w(z)|9\nT1|w(x)|1\nT2|r(x)|4\nT2|w(z)|5\n")
        for detector in ("mcm", "shb", "syncp", "wcp", "cp", "rdit"):
            self.assertEqual(self.deadheat("analyze", "--detectors", "tree|" + detector, "z.std"), 2, self.err)
            self.assertIn("expected one of fasttrack, hb, lockset, hybrid behind 'tree'", self.err)
            self.assertEqual(self.err.count("\n"), 1, self.err)
        for detector in ("hb", "fasttrack"):
            self.assertEqual(self.deadheat("analyze", "--detectors", "tree|" + detector, "z.std"), 66, self.err)

    def test_a_thread_that_does_nothing_is_joined_after_its_fork(self):
        self.write("idle.std", "main|fork(K1)|1\nmain|w(x)|2\nmain|fork(K2)|3\nK1|join(K2)|4\nK1|w(x)|5\n")
        for detector in ("mcm", "rdit", "cp", "hb", "shb", "wcp", "syncp"):
            self.assertEqual(self.deadheat("analyze", "--detectors", detector, "idle.std"), 0, detector + self.err)

    def test_values_are_inferred_from_reads(self):
        self.write("values.std", "T1|w(x)|1\nT1|r(x)=5|2\nT2|w(y)|3\nT2|w(x)=5|4\nT3|r(x)=5|5\nT3|w(y)|6\n")
        self.assertEqual(self.deadheat("analyze", "--detectors", "mcm", "values.std"), 66)
        self.assertIn("data race on y", self.err)

    def test_untraced_code_may_release_and_take_locks(self):
        self.write("wait.std", "T1|acq(m)|1\nT1|enter(cond_wait;c,m)|2\nT2|acq(m)|3\nT2|w(x)|4\nT2|rel(m)|5\n"
                               "T1|leave(cond_wait)|6\nT1|r(x)|7\nT1|rel(m)|8\n")
        self.assertEqual(self.deadheat("analyze", "wait.std"), 0, self.err)
        self.write("lock.std", "T1|enter(lock;m)|1\nT1|leave(lock)|2\nT1|w(x)|3\nT1|rel(m)|4\nT2|acq(m)|5\nT2|w(x)|6\n")
        self.assertEqual(self.deadheat("analyze", "lock.std"), 0, self.err)

    def test_a_thread_may_end_in_a_call(self):
        self.write("end.std", "T0|begin|0\nT0|w(x)|1\nT0|enter(flush;log)|2\nT0|leave(flush)|3\n"
                              "T1|enter(wait_for;T0)|4\nT1|leave(wait_for)|5\nT1|r(x)|6\n")
        self.assertEqual(self.deadheat("analyze", "end.std"), 0, self.err)


class ManyThreads(TraceCliTest):
    def test_too_many_alive_are_refused(self):
        with open(self.path("alive.std"), "w") as file:
            file.writelines(f"main|fork(T{i})|1\n" for i in range(100_000))
            file.writelines(f"T{i}|acq(l)|2\nT{i}|w(x)|3\nT{i}|rel(l)|4\n" for i in range(100_000))
        for detector in ("wcp", "syncp", "hb"):
            code = self.deadheat("analyze", "--detectors", detector, "--solver-memory", "600M", "alive.std",
                                 limit_memory=2 << 30)
            self.assertEqual(code, 2, detector + self.err)
            self.assertIn("threads at a time, found more" if detector == "syncp" else "expected state that fits 600 MiB",
                          self.err)
            self.assertLess(self.seconds, 10 * SLACK, detector)

    def test_detectors_share_their_memory(self):
        with open(self.path("alive.std"), "w") as file:
            file.writelines(f"T{i}|acq(l)|1\nT{i}|w(x)|2\nT{i}|rel(l)|3\nT{i}|w(y)|4\n" for i in range(8_000))
        code = self.deadheat("analyze", "--detectors", "fasttrack,hb,shb,hybrid", "--solver-memory", "150M", "alive.std",
                             limit_memory=700 << 20)
        self.assertEqual(code, 66, self.err)
        self.assertIn("gave up: ", self.err)
        self.assertIn("expected the state of all detectors to fit 150 MiB, found ", self.err)

    def test_syncp_with_many_threads(self):
        with open(self.path("alive.std"), "w") as file:
            file.writelines(f"T{i}|acq(l)|1\nT{i}|w(x)|2\nT{i}|rel(l)|3\nT{i}|w(y)|4\n" for i in range(20_000))
        self.assertEqual(self.deadheat("analyze", "--detectors", "syncp", "alive.std"), 2, self.err)
        self.assertIn("expected at most 16384 threads at a time", self.err)
        self.assertLess(self.seconds, 8 * SLACK)
        self.interrupted("analyze", "--detectors", "syncp", "alive.std", after=1)
        self.assertLess(self.seconds, SLACK)

    def test_a_million_threads_at_one_place(self):
        with open(self.path("million.std"), "w") as file:
            file.writelines(f"T{i}|w(x)|{i % 3}\n" for i in range(1_000_000))
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb", "million.std"), 66)
        self.assertLess(self.seconds, 30 * SLACK)  # looking at every two of them would be hours

    def test_what_a_thread_knew_is_forgotten(self):
        """1,000 threads alive, 100,000 one after another."""
        with open(self.path("relay.std"), "w") as file:
            file.writelines(f"main|fork(W{i})|1\nW{i}|snd(m)|2\n" for i in range(1_000))
            file.write("main|rcv(m)|3\n")
            file.writelines(f"main|fork(r{i})|4\nr{i}|w(x)|5\nmain|join(r{i})|6\n" for i in range(100_000))
        for detectors in ("fasttrack", "hb", "shb", "hybrid"):
            self.assertEqual(self.deadheat("analyze", "--detectors", detectors, "--solver-memory", "60M", "relay.std"), 0, self.err)

    def test_memory_follows_the_threads_that_are_alive(self):
        """60,000 threads, two alive at a time."""
        with open(self.path("churn.std"), "w") as file:
            for i in range(60_000):
                file.write(f"main|fork(T{i})|1\nT{i}|acq(l)|5\nT{i}|w(x)|2\nT{i}|rel(l)|6\nmain|join(T{i})|3\n")
            file.write("main|fork(a)|7\nmain|fork(b)|8\na|w(x)|9\nb|w(x)|10\n")
        for detectors in ("fasttrack", "hb", "shb", "wcp", "syncp", "hybrid", "spans|hb", "lockset", "shb,mcm"):
            code = self.deadheat("analyze", "--detectors", detectors, "--json", "out.json", "churn.std",
                                 limit_memory=1 << 30)
            self.assertEqual(code, 66, detectors + self.err)
            self.assertLess(self.seconds, 4 * SLACK, detectors)
            report = json.loads(self.read("out.json"))
            if detectors != "lockset":
                self.assertEqual({access["location"]["place"] for access in report["findings"][0]["accesses"]}, {"9", "10"})
                self.assertEqual({access["thread"] for access in report["findings"][0]["accesses"]}, {60001, 60002})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + [word for word in sys.argv[2:] if word != "--slow"])
