"""The command line as scripts and CI see it: usage errors, exit codes, what is printed where, what is left behind.

    cli_test.py DEADHEAT FAKE_PROGRAM [unittest arguments]
"""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

DEADHEAT, FAKE = (os.path.abspath(path) for path in sys.argv[1:3])


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cli-test-")
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("DEADHEAT")}
        self.environment["TMPDIR"] = self.tmp

    def tearDown(self):
        self.assertEqual(os.listdir(self.tmp), [], "a temporary folder was left behind")
        shutil.rmtree(self.folder)

    def deadheat(self, *words, stdin=b"", environment=None):
        done = subprocess.run([DEADHEAT, *words], input=stdin, capture_output=True, cwd=self.folder, timeout=60,
                              env={**self.environment, **(environment or {})})
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        return done.returncode

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def read_json(self, name):
        with open(self.path(name)) as file:
            return json.load(file)


class Usage(CliTest):
    def test_no_command(self):
        self.assertEqual(self.deadheat(), 2)
        self.assertIn("no command given", self.err)

    def test_unknown_command(self):
        self.assertEqual(self.deadheat("rnu"), 2)
        self.assertIn('unknown command "rnu"', self.err)

    def test_unknown_option(self):
        for words in (["run", "--jsn", "x", "--", "true"], ["check", "--jsn", "x.cpp"], ["analyze", "--jsn", "x.std"]):
            self.assertEqual(self.deadheat(*words), 2, words)
            self.assertIn("--jsn", self.err)

    def test_missing_value(self):
        self.assertEqual(self.deadheat("run", "--json"), 2)
        self.assertIn("--json", self.err)

    def test_no_program(self):
        self.assertEqual(self.deadheat("run"), 2)
        self.assertIn("no program given", self.err)
        self.assertEqual(self.deadheat("run", "--"), 2)

    def test_bad_choices(self):
        self.assertEqual(self.deadheat("run", "--filter", "sieve", "--", FAKE), 2)
        self.assertEqual(self.deadheat("run", "--mode", "guess", "--", FAKE), 2)
        self.assertEqual(self.deadheat("run", "--detectors", "mcm", "--", FAKE), 2)
        self.assertIn("fasttrack", self.err)

    def test_version(self):
        self.assertEqual(self.deadheat("version"), 0)
        self.assertRegex(self.out, r"^deadheat \d+\.\d+\.\d+\n$")
        self.assertEqual(self.deadheat("--version"), 0)

    def test_help(self):
        self.assertEqual(self.deadheat("help"), 0)
        commands = [line.split()[0] for line in self.out.split("commands:\n")[1].split("\n\n")[0].splitlines()]
        self.assertIn("run", commands)
        self.assertNotIn("report-raw", commands)
        for command in commands:
            self.assertEqual(self.deadheat("help", command), 0)
            self.assertIn("usage: deadheat " + command, self.out)
            named = self.out
            self.assertEqual(self.deadheat(command, "--help"), 0)
            self.assertEqual(self.out, named)
        self.assertEqual(self.deadheat("help", "rnu"), 2)


class Run(CliTest):
    def test_clean(self):
        self.assertEqual(self.deadheat("run", "--", FAKE), 0)
        self.assertIn("0 findings", self.err)
        self.assertEqual(self.out, "")

    def test_findings(self):
        self.assertEqual(self.deadheat("run", "--json", "o.json", "--", FAKE, "race", "twice", "exit=3"), 66)
        self.assertIn("data race on balance", self.err)
        self.assertNotIn("\033", self.err)
        report = self.read_json("o.json")
        self.assertEqual(report["schema"], "deadheat-report/1")
        self.assertEqual(report["program"], {"command": [FAKE, "race", "twice", "exit=3"], "exit": 3})
        self.assertEqual(report["statistics"]["accesses"], 100)
        self.assertEqual(len(report["findings"]), 1)
        finding = report["findings"][0]
        self.assertEqual(finding["instances"], 2)
        self.assertEqual(finding["variable"]["name"], "balance")
        self.assertRegex(finding["fingerprint"], "^[0-9a-f]{16}$")
        first, second = finding["accesses"]
        self.assertIn("deposit(", first["location"]["function"])
        self.assertTrue(first["location"]["file"].endswith("fake_program.cc"))
        self.assertEqual(first["location"], first["stack"][0])
        self.assertIn("audit(", second["location"]["function"])

    def test_same_report_on_every_run(self):
        reports = []
        for _ in range(2):
            self.deadheat("run", "--json", "o.json", "--", FAKE, "race")
            finding = self.read_json("o.json")["findings"][0]
            finding["variable"].pop("address")
            for access in finding["accesses"]:
                for lock in access["locks"]:
                    lock.pop("address")
            reports.append(finding)
        self.assertEqual(reports[0], reports[1])

    def test_exit_codes_pass_through(self):
        self.assertEqual(self.deadheat("run", "--", FAKE, "exit=7"), 7)
        self.assertEqual(self.deadheat("run", "--", FAKE, "signal=11"), 128 + 11)
        self.assertIn("ended by signal 11", self.err)
        self.assertEqual(self.deadheat("run", "--", FAKE, "race", "signal=9"), 66)

    def test_input_and_output_pass_through(self):
        text = bytes(range(256)) * 1000
        done = subprocess.run([DEADHEAT, "run", "--quiet", "--", FAKE, "echo"], input=text, capture_output=True,
                              env=self.environment, timeout=60)
        self.assertEqual(done.stdout, text)
        self.assertEqual(done.stderr, b"")

    def test_program_without_dashes(self):
        self.assertEqual(self.deadheat("run", "--quiet", FAKE, "race"), 66)
        self.assertEqual(self.deadheat("run", FAKE, "--", "exit=7", "--json"), 7)

    def test_options_reach_the_runtime(self):
        self.deadheat("run", "--filter", "tree", "--", "sh", "-c", "echo $DEADHEAT_OPTIONS",
                      environment={"DEADHEAT_OPTIONS": "verbosity=1"})
        self.assertRegex(self.out, r"^verbosity=1 log=\S+/raw filter=tree\n$")

    def test_quiet(self):
        self.assertEqual(self.deadheat("run", "--quiet", "--", FAKE, "race"), 66)
        self.assertEqual(self.err, "")

    def test_json_on_standard_output(self):
        self.assertEqual(self.deadheat("run", "--json", "-", "--", FAKE, "race"), 66)
        self.assertEqual(len(json.loads(self.out)["findings"]), 1)
        self.assertEqual(self.deadheat("run", "--json", "-", "--html", "-", "--", FAKE), 2)

    def test_all_renderings(self):
        self.assertEqual(self.deadheat("run", "--sarif", "o.sarif", "--html", "o.html", "--json", "o.json", "--", FAKE,
                                       "heap"), 66)
        self.assertEqual(self.read_json("o.sarif")["version"], "2.1.0")
        with open(self.path("o.html")) as file:
            self.assertIn("<!DOCTYPE html>", file.read())
        self.assertIn("allocated", self.read_json("o.json")["findings"][0]["variable"])

    def test_not_instrumented(self):
        self.assertEqual(self.deadheat("run", "--json", "o.json", "--", "true"), 2)
        self.assertIn("not instrumented", self.err)
        self.assertEqual(len(self.err.splitlines()), 1)
        self.assertFalse(os.path.exists(self.path("o.json")), "nothing half-written")

    def test_children_of_a_script_are_watched(self):
        script = self.write("script.sh", "#!/bin/sh\n%s exit=1\n%s race\n%s heap\nexit 0\n" % (FAKE, FAKE, FAKE))
        os.chmod(script, 0o755)
        self.assertEqual(self.deadheat("run", "--json", "o.json", "--", script), 66)
        report = self.read_json("o.json")
        self.assertEqual(report["findings"][0]["instances"], 2)
        self.assertEqual(report["statistics"]["accesses"], 300)

    def test_a_child_with_exec_is_watched(self):
        self.assertEqual(self.deadheat("run", "--", FAKE, "spawn", "race"), 66)

    def test_missing_program(self):
        self.assertEqual(self.deadheat("run", "--", "no-such-program"), 2)
        self.assertEqual(self.err, "deadheat: no-such-program: not found in PATH\n")
        self.assertEqual(self.deadheat("run", "--", "./no-such-program"), 2)
        self.assertIn("./no-such-program: cannot be started: No such file or directory", self.err)
        self.write("plain", "text")
        self.assertEqual(self.deadheat("run", "--", "./plain"), 2)
        self.assertIn("Permission denied", self.err)

    def test_unwritable_report_is_said_before_the_program_runs(self):
        for option in ("--json", "--sarif", "--html"):
            for target in ("no/such/folder/o", self.folder):
                self.assertEqual(self.deadheat("run", option, target, "--", FAKE, "print=ran"), 2)
                self.assertIn("cannot be written", self.err)
                self.assertEqual(self.out, "")

    def test_a_full_disk_is_an_error(self):
        self.assertEqual(self.deadheat("run", "--json", "/dev/full", "--", FAKE, "race"), 2)
        self.assertIn("/dev/full: cannot be written: No space left on device", self.err)

    def test_a_report_that_was_there_is_replaced(self):
        self.write("o.json", "x" * 100000)
        self.assertEqual(self.deadheat("run", "--json", "o.json", "--", FAKE), 0)
        self.assertEqual(self.read_json("o.json")["findings"], [])

    def test_damaged_and_cut_logs(self):
        self.assertEqual(self.deadheat("run", "--", FAKE, "damage", "race", "cut"), 66)
        self.assertIn("2 damaged lines", self.err)

    def test_closed_standard_error(self):
        done = subprocess.run(["sh", "-c", '"$0" run --json o.json -- "$1" race 2>&-', DEADHEAT, FAKE], cwd=self.folder,
                              env=self.environment, timeout=60)
        self.assertEqual(done.returncode, 66)
        self.assertEqual(len(self.read_json("o.json")["findings"]), 1)

    def test_no_temporary_folder(self):
        self.assertEqual(self.deadheat("run", "--", FAKE, environment={"TMPDIR": "/no/such/folder"}), 2)
        self.assertIn("no temporary folder", self.err)

    def test_temporary_folder_with_blanks(self):
        odd = self.path("odd tmp")
        os.mkdir(odd)
        self.assertEqual(self.deadheat("run", "--", FAKE, "race", environment={"TMPDIR": odd}), 66)

    def test_mode_of_the_program(self):
        self.assertEqual(self.deadheat("run", "--mode", "watch", "--", FAKE), 0)
        self.assertEqual(self.deadheat("run", "--mode", "monitor", "--", FAKE), 2)
        self.assertIn("--deadheat-mode=watch", self.err)


class Suppressions(CliTest):
    def test_suppressed(self):
        self.write("s.txt", "# known\nrace:deposit\nrace:nobody\n")
        self.assertEqual(self.deadheat("run", "--suppressions", "s.txt", "--json", "o.json", "--", FAKE, "race"), 0)
        self.assertIn("0 findings; 1 suppressed", self.err)
        self.assertIn("s.txt:3: suppression race:nobody matched nothing", self.err)
        self.assertEqual(self.read_json("o.json")["summary"]["suppressed"], 1)

    def test_the_programs_code_remains(self):
        self.write("s.txt", "race:deposit\n")
        self.assertEqual(self.deadheat("run", "--suppressions", "s.txt", "--", FAKE, "race", "exit=5"), 5)

    def test_bad_file(self):
        self.write("s.txt", "race:ok\n\nwrong line\n")
        self.assertEqual(self.deadheat("run", "--suppressions", "s.txt", "--", FAKE, "print=ran"), 2)
        self.assertTrue(self.err.startswith("deadheat: s.txt:3: expected"), self.err)
        self.assertEqual(self.out, "")
        self.assertEqual(self.deadheat("run", "--suppressions", "missing.txt", "--", FAKE), 2)


class Signals(CliTest):
    def start(self, *words):
        process = subprocess.Popen([DEADHEAT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.folder, env=self.environment, start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"sleeping\n")
        return process

    def test_a_signal_is_passed_on_and_findings_are_kept(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            process = self.start("run", "--json", "o.json", "--", FAKE, "race", "sleep")
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 66)
            self.assertIn(b"ended by signal %d" % number, err)
            self.assertEqual(len(self.read_json("o.json")["findings"]), 1)

    def test_without_findings_the_signal_is_the_exit_code(self):
        process = self.start("run", "--", FAKE, "sleep")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_control_c_reaches_the_program_once(self):
        counter = self.write("count.py", """
import signal, sys, time
count = 0
def on(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, on)
print("ready", flush=True)
end = time.time() + 1
while time.time() < end: time.sleep(0.05)
print("count", count, flush=True)
""")
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(DEADHEAT, [DEADHEAT, "run", "--", sys.executable, counter], self.environment)
        text = b""
        while b"ready" not in text:
            text += os.read(fd, 1000)
        os.write(fd, b"\x03")
        while True:
            try:
                more = os.read(fd, 1000)
            except OSError:
                break
            if not more:
                break
            text += more
        os.waitpid(pid, 0)
        os.close(fd)
        self.assertIn(b"count 1", text)


class Terminal(CliTest):
    def on_terminal(self, *words, **environment):
        """Standard error is a terminal, as a developer has it."""
        master, slave = pty.openpty()
        process = subprocess.Popen([DEADHEAT, *words], stdout=subprocess.DEVNULL, stderr=slave, cwd=self.folder,
                                   env={**self.environment, "TERM": "xterm", **environment})
        os.close(slave)
        text = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            text += more
        process.wait(timeout=30)
        os.close(master)
        return text.decode()

    def test_colour_on_a_terminal_only(self):
        self.environment.pop("NO_COLOR", None)
        self.assertIn("\033[", self.on_terminal("run", "--", FAKE, "race"))
        self.assertNotIn("\033[", self.on_terminal("run", "--no-color", "--", FAKE, "race"))
        self.assertNotIn("\033[", self.on_terminal("run", "--", FAKE, "race", NO_COLOR="1"))
        self.assertNotIn("\033[", self.on_terminal("run", "--", FAKE, "race", TERM="dumb"))


class ReportRaw(CliTest):
    def raw_log(self, *what):
        subprocess.run([FAKE, *what], env={**self.environment, "DEADHEAT_OPTIONS": "log=%s/raw" % self.folder},
                       check=False, stdout=subprocess.DEVNULL)
        name = [name for name in os.listdir(self.folder) if name.startswith("raw.")][0]
        return self.path(name)

    def test_a_file(self):
        self.assertEqual(self.deadheat("report-raw", self.raw_log("race", "twice")), 66)
        self.assertEqual(self.err.count("data race on balance"), 1)
        self.assertIn("1 finding (2 instances)", self.err)

    def test_findings_are_printed_as_they_come(self):
        with open(self.raw_log("race"), "rb") as file:
            log = file.read()
        process = subprocess.Popen([DEADHEAT, "report-raw", "0"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment)
        before, after = log.split(b'{"t":"end"')
        process.stdin.write(before)
        process.stdin.flush()
        text = b""
        while b"data race on balance" not in text:
            ready, _, _ = select.select([process.stderr], [], [], 30)
            self.assertTrue(ready, "nothing was printed while the program runs")
            text += os.read(process.stderr.fileno(), 65536)
        self.assertNotIn(b"1 finding", text)
        process.stdin.write(b'{"t":"end"' + after)
        process.stdin.close()
        rest = process.stderr.read()
        self.assertEqual(process.wait(timeout=30), 66)
        self.assertIn(b"1 finding", rest)
        process.stderr.close()

    def test_a_clean_program_prints_nothing(self):
        self.assertEqual(self.deadheat("report-raw", self.raw_log()), 0)
        self.assertEqual(self.err, "")

    def test_errors(self):
        self.assertEqual(self.deadheat("report-raw"), 2)
        self.assertEqual(self.deadheat("report-raw", "no/such/file"), 2)
        self.assertEqual(self.deadheat("report-raw", "57"), 2)


class Check(CliTest):
    def test_errors(self):
        self.assertEqual(self.deadheat("check"), 2)
        self.assertIn("no source given", self.err)
        self.assertEqual(self.deadheat("check", "missing.cpp"), 2)
        self.assertIn("missing.cpp: cannot be read: No such file", self.err)
        self.write("notes.txt", "hello")
        self.assertEqual(self.deadheat("check", "notes.txt"), 2)
        self.assertIn("notes.txt: expected a C or C++ source", self.err)
        os.mkdir(self.path("folder.c"))
        self.assertEqual(self.deadheat("check", "folder.c"), 2)
        self.write("a.c", "int main(void){return 0;}")
        self.assertEqual(self.deadheat("check", "--cflags", "'unclosed", "a.c"), 2)
        self.assertIn("--cflags", self.err)

    def test_missing_wrapper(self):
        alone = os.path.join(self.folder, "deadheat")
        shutil.copy(DEADHEAT, alone)
        self.write("a.c", "int main(void){return 0;}")
        done = subprocess.run([alone, "check", "a.c"], cwd=self.folder, env=self.environment, capture_output=True,
                              timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"the compiler wrapper is missing", done.stderr)


RACY = """#include <pthread.h>
#include <stdio.h>
struct account { int id; long balance; };
struct account accounts[3];
int total;
static void *worker(void *unused) {
  (void)unused;
  total++;
  accounts[1].balance = 7;
  return NULL;
}
int main(int argc, char **argv) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  total++;
  long seen = accounts[1].balance;
  pthread_join(thread, NULL);
  printf("%d %s\\n", argc, argv[argc - 1]);
  return seen == 99;
}
"""
LONG = """\
#include <pthread.h>
#include <string.h>
long text[8] __attribute__((aligned(64))), longer[16] __attribute__((aligned(64)));
static void *fill(void *byte) {
  for (int i = 0; i < 3; ++i) {
    *(volatile long *)text = i;
    memset(text, i, 40);
    for (int j = 0; j < 6; ++j) ((volatile long *)longer)[j] = i;
    memset(longer, i, 64);
    __asm__ volatile("" : : "r"(byte) : "memory");
  }
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, fill, 0);
  text[2] = longer[7] = 1;
  return pthread_join(thread, 0);
}
"""
ONE_PLACE = """\
#include <pthread.h>
#include <unistd.h>
int known, unknown, many[100];
static void set(int *where, int value) { *where = value; }
static void set_all(int value) {
  set(&known, value);
  set(&unknown, value);
  for (int i = 0; i < 100; ++i) set(many + i, value);
}
static void *other(void *unused) {
  set_all(1);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  usleep(100000);
  set_all(2);
  return pthread_join(thread, 0);
}
"""
# A lambda that is never called takes the first number, unless the optimiser comes before.
LAMBDAS = """#include <thread>
int a, b;
inline void add(int &to) { to++; }
static void elsewhere() {
  auto none = [count = 0]() mutable { count++; };
  auto first = [] { add(a); };
  auto second = [] { b++; };
  std::thread w(first), x(first), y(second), z(second);
  w.join(), x.join(), y.join(), z.join();
}
int main() {
  auto unused = [count = 0]() mutable { count++; };
  std::thread x([] { a++; });
  a++;
  x.join();
  elsewhere();
}
"""
CLEAN = "int main(int argc, char **argv) { (void)argv; return argc - 1; }\n"


@unittest.skipUnless(os.path.exists(os.path.join(os.path.dirname(DEADHEAT), "deadheat-cc")) and
                     os.path.exists(os.path.join(os.path.dirname(DEADHEAT), "../lib/deadheat/libdeadheat_watch.a")),
                     "the wrappers or the runtime are not built")
@unittest.skipIf("DEADHEAT_PLUGIN_IS_SANITIZED" in os.environ, "clang cannot load a plugin that AddressSanitizer is in")
class CheckForReal(CliTest):
    """The whole way: wrapper, pass, runtime, raw log, report."""

    def test_races_of_a_c_program(self):
        self.write("racy.c", RACY)
        self.assertEqual(self.deadheat("check", "--json", "o.json", "racy.c", "--", "one", "two"), 66)
        self.assertEqual(self.out, "3 two\n")
        report = self.read_json("o.json")
        self.assertEqual(report["program"]["command"], ["./racy", "one", "two"])
        found = {(f["variable"]["name"], tuple(a["location"]["line"] for a in f["accesses"])): f
                 for f in report["findings"]}
        self.assertIn(("total", (8, 15)), found)
        self.assertIn(("accounts", (9, 16)), found)
        member = found[("accounts", (9, 16))]
        self.assertEqual(member["variable"]["member"], "accounts[1].balance")
        self.assertEqual(member["variable"]["declared"], {"file": "racy.c", "line": 4})
        self.assertEqual({a["operation"] for a in member["accesses"]}, {"read", "write"})
        for finding in report["findings"]:
            for access in finding["accesses"]:
                self.assertEqual(access["location"]["file"], "racy.c")
                self.assertEqual(access["location"]["function"], "worker" if access["thread"] == 1 else "main")
        created = {t["id"]: t["created"] for t in member["threads"]}[1]
        self.assertEqual([frame["line"] for frame in created if frame.get("file") == "racy.c"], [14])
        self.assertEqual(sorted(os.listdir(self.folder)), ["o.json", "racy.c", "tmp"], "nothing else is left behind")

    def test_a_long_write_that_begins_covered_is_not_told_as_a_shorter_one(self):
        self.write("long.c", LONG)
        self.assertEqual(self.deadheat("check", "--json", "o.json", "long.c"), 66)
        findings = self.read_json("o.json")["findings"]
        sizes = {a["location"]["line"]: a["size"] for f in findings for a in f["accesses"] if a["location"]["line"] < 10}
        # Of an older one the word is told that both touched; of a later one all that was not covered, at least.
        self.assertIn(sizes[7], (8, 40))
        self.assertTrue(sizes[9] == 8 or sizes[9] > 32, sizes[9])

    def test_all_variables_that_race_at_one_pair_of_places_are_named(self):
        self.write("one_place.c", ONE_PLACE)
        self.assertEqual(self.deadheat("check", "--json", "o.json", "one_place.c"), 66)
        findings = self.read_json("o.json")["findings"]
        self.assertEqual(len(findings), 1)
        self.assertGreaterEqual(findings[0]["instances"], 3)
        self.assertEqual({v["name"] for v in findings[0]["variables"]}, {"known", "unknown", "many"})
        # And whoever knows of one has not accepted the others.
        self.write("known.txt", "race:^known$\n")
        self.assertEqual(self.deadheat("check", "--suppressions", "known.txt", "--json", "o.json", "one_place.c"), 66)
        names = {v["name"] for v in self.read_json("o.json")["findings"][0]["variables"]}
        self.assertEqual(names, {"unknown", "many"})

    def test_fingerprints_survive_levels_folders_and_edits_elsewhere(self):
        os.mkdir(self.path("moved"))
        moved = LAMBDAS.replace("static void", "// A comment.\n\nstatic void").replace("int a, b;", "int a, b;\n\nauto other = [] {};")
        seen = set()
        for source, text in (("lambdas.cc", LAMBDAS), ("moved/lambdas.cc", moved)):
            self.write(source, text)
            for flags in ("-O0 -g", "-O1 -gline-tables-only", "-O2 -g", "-O2 -gline-tables-only", "-O3 -g", "-O2 -flto"):
                self.assertEqual(self.deadheat("check", "--json", "o.json", "--cflags", flags, source), 66)
                findings = self.read_json("o.json")["findings"]
                prints = frozenset(f["fingerprint"] for f in findings)
                self.assertEqual(len(prints), len(findings), (source, flags))
                self.assertEqual(len(findings), 3, (source, flags))
                seen.add(prints)
        self.assertEqual(len(seen), 1, seen)

    def test_arguments_that_are_not_utf8(self):
        self.write("one_place.c", ONE_PLACE)
        arguments = [b"caf\xe9", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xc0\x80", b"\xe2\x82"]
        self.assertEqual(self.deadheat("check", "--json", "o.json", "one_place.c", "--", *arguments), 66)
        command = self.read_json("o.json")["program"]["command"]
        self.assertEqual(command[-5], "\u00e9")
        self.assertEqual(command[-3], "\U0001f600")
        self.assertIn("\ufffd", command[-6])

    def test_clean_and_failing_programs(self):
        self.write("clean.c", CLEAN)
        self.assertEqual(self.deadheat("check", "clean.c"), 0)
        self.assertEqual(self.deadheat("check", "clean.c", "--", "a", "b"), 2)

    def test_two_languages_and_flags(self):
        self.write("main.cpp", "extern \"C\" int twice(int);\nint main() { return twice(SEVEN) - 14; }\n")
        self.write("twice.c", "int twice(int x) { return 2 * x; }\n")
        self.assertEqual(self.deadheat("check", "--cflags", "-DSEVEN=7 -DTEXT='a b'", "main.cpp", "twice.c"), 0, )

    def test_a_source_after_suppressions(self):
        self.write("racy.c", RACY)
        self.write("s.txt", "race:^total$\nrace:^accounts$\n")
        self.assertEqual(self.deadheat("check", "--suppressions", "s.txt", "racy.c"), 0, self.err)

    def test_large_variables_and_link_time_optimisation(self):
        # The names of variables that no file backs, and each place by itself.
        self.write("racy.c", RACY.replace("int main(", "char before[1000000];\nchar after[1000000];\nint main(", 1))
        for flags in ("-O2", "-O2 -flto"):
            self.assertEqual(self.deadheat("check", "--json", "o.json", "--cflags", flags, "racy.c"), 66)
            names = [finding["variable"]["name"] for finding in self.read_json("o.json")["findings"]]
            self.assertIn("total", names, flags)
            self.assertTrue(any(name.startswith("accounts") for name in names), (flags, names))

    def test_a_source_that_does_not_compile(self):
        self.write("broken.c", "int main(void) { return x; }\n")
        self.assertEqual(self.deadheat("check", "broken.c"), 2)
        self.assertIn("broken.c: does not compile", self.err)
        self.assertIn("undeclared identifier", self.err)

    def test_simply_run(self):
        self.write("racy.c", RACY)
        wrapper = os.path.join(os.path.dirname(DEADHEAT), "deadheat-cc")
        subprocess.run([wrapper, "-g", "-pthread", "racy.c", "-o", "racy"], cwd=self.folder, check=True, timeout=120)
        done = subprocess.run(["./racy"], cwd=self.folder, env=self.environment, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 66)
        self.assertIn(b"data race on total", done.stderr)
        self.assertEqual(self.deadheat("run", "--quiet", "--json", "o.json", "--", "./racy"), 66)
        self.assertGreaterEqual(len(self.read_json("o.json")["findings"]), 2)
        self.write("s.txt", "race:^total$\nrace:^accounts$\n")
        self.assertEqual(self.deadheat("run", "--suppressions", "s.txt", "--", "./racy"), 0, self.err)

    def test_without_symbols(self):
        self.write("racy.c", RACY)
        wrapper = os.path.join(os.path.dirname(DEADHEAT), "deadheat-cc")
        subprocess.run([wrapper, "-s", "-pthread", "racy.c", "-o", "racy"], cwd=self.folder, check=True, timeout=120)
        self.assertEqual(self.deadheat("run", "--json", "o.json", "--", "./racy"), 66)
        for access in self.read_json("o.json")["findings"][0]["accesses"]:
            self.assertEqual(os.path.basename(access["location"]["module"]), "racy")
        self.write("s.txt", "race:racy\n")
        self.assertEqual(self.deadheat("run", "--suppressions", "s.txt", "--", "./racy"), 0, self.err)


TRACE = """T0|fork(T1)|1
T0|w(x)|a.c:2
T0|acq(l)|3
T0|w(y)|4
T0|rel(l)|5
T1|acq(l)|10
T1|w(y)=5|12
T1|rel(l)|13
T1|w(x)|a.c:11
"""


class Analyze(CliTest):
    def test_a_predicted_race_has_a_witness(self):
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("analyze", "--json", "o.json", "t.std"), 66)
        self.assertIn("a schedule that shows it", self.err)
        report = self.read_json("o.json")
        finding, = report["findings"]
        self.assertEqual([a["event"] for a in finding["accesses"]], [8, 1] if
                         finding["accesses"][0]["location"]["place"] == "a.c:11" else [1, 8])
        self.assertEqual(finding["witness"][-2:], [1, 8])
        self.assertEqual(finding["variable"], {"name": "x", "kind": "trace"})
        self.assertEqual(report["statistics"]["events"], 9)

    def test_detectors(self):
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("analyze", "--detectors", "spans|fasttrack,hb", "t.std"), 0)
        self.assertEqual(self.deadheat("analyze", "--detectors", "nonsense", "t.std"), 2)
        self.assertIn("nonsense", self.err)
        self.assertEqual(self.deadheat("analyze", "--detectors", "", "t.std"), 66)
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb,", "t.std"), 2)

    def test_the_default_on_an_incomplete_trace_gives_no_false_alarm(self):
        self.write("t.std", "T0|fork(T1)|1\nT0|w(x)|2\nT0|enter(f;x)|3\nT0|leave(f)|3\n"
                            "T1|enter(g;x)|4\nT1|leave(g)|4\nT1|w(x)|5\n")
        self.assertEqual(self.deadheat("analyze", "--json", "o.json", "t.std"), 0)
        self.assertEqual(self.deadheat("analyze", "--detectors", "hb", "t.std"), 66)

    def test_bad_input(self):
        self.assertEqual(self.deadheat("analyze"), 2)
        self.assertEqual(self.deadheat("analyze", "missing.std"), 2)
        self.assertIn("missing.std", self.err)
        self.write("bad.std", "T0|w(x)|1\nT0|jump(x)|2\n")
        self.assertEqual(self.deadheat("analyze", "bad.std"), 2)
        self.assertIn("bad.std", self.err)
        self.assertIn("2", self.err)
        self.write("t.std", TRACE)
        for option, value in (("--solver-memory", "much"), ("--solver-memory", "-1"), ("--solver-seconds", "0"),
                              ("--solver-seconds", "soon")):
            self.assertEqual(self.deadheat("analyze", option, value, "t.std"), 2, option + value)

    def test_suppressions_match_places(self):
        self.write("t.std", TRACE)
        self.write("s.txt", "race:a.c:11$\n")
        self.assertEqual(self.deadheat("analyze", "--suppressions", "s.txt", "t.std"), 0)
        self.assertIn("1 suppressed", self.err)

    def test_all_renderings(self):
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("analyze", "--sarif", "o.sarif", "--html", "o.html", "t.std"), 66)
        location = self.read_json("o.sarif")["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual(location["artifactLocation"]["uri"], "a.c")


class Trace(CliTest):
    def test_convert_there_and_back(self):
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("trace", "convert", "t.std", "t.dht"), 0)
        self.assertEqual(self.deadheat("trace", "convert", "--extended", "t.dht", "back.std"), 0)
        with open(self.path("back.std")) as file:
            self.assertEqual([line for line in file if not line.startswith("#")], TRACE.splitlines(keepends=True))

    def test_stat(self):
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("trace", "stat", "t.std"), 0)
        self.assertIn("9 events", self.out)
        self.assertRegex(self.out, r"write +4 +44.4 %")

    def test_check(self):
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("trace", "check", "t.std"), 0)
        self.write("bad.std", "T0|w(x\n")
        self.assertEqual(self.deadheat("trace", "check", "bad.std"), 2)

    def test_usage(self):
        self.assertEqual(self.deadheat("trace"), 2)
        self.assertEqual(self.deadheat("trace", "convert", "one"), 2)
        self.assertEqual(self.deadheat("trace", "stat"), 2)
        self.assertEqual(self.deadheat("trace", "stat", "missing.std"), 2)
        self.write("t.std", TRACE)
        self.assertEqual(self.deadheat("trace", "convert", "t.std", "no/such/folder/t.dht"), 2)
        self.assertEqual(self.deadheat("trace", "convert", "t.std", "t.unknown"), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
