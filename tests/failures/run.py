#!/usr/bin/env python3
"""What goes wrong in real life, and what Deadheat must do then.

    tests/failures/run.py [--build-dir build] [--long] [unittest options]

The quick ones run in `make test`, all of them in `make test-failures`. The last line says `N passed, N failed`.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
BUILD = ROOT / "build"
LONG = False
FINDINGS, USAGE, FAULT = 66, 2, 70
TIMEOUT = 120


def build(source, *flags, compiler=None, name=None):
    """Compiles once per run of this script; returns the path."""
    target = WORK / (name or Path(source).stem + "".join(flags).replace("/", ""))
    if not target.exists():
        compiler = compiler or str(BUILD / "bin" / "deadheat-cc")
        subprocess.run([compiler, "-g", "-O2", "-pthread", *flags, str(FOLDER / "programs" / source), "-o", str(target),
                        "-ldl"], check=True, timeout=TIMEOUT)
    return target


class Outcome:
    def __init__(self, process, report):
        self.code = process.returncode
        self.out, self.err = process.stdout, process.stderr
        self.findings = None
        if report.exists():
            try:
                self.document = json.loads(report.read_text())
                self.findings = self.document["findings"]
            except ValueError:
                self.findings = "not JSON"
            report.unlink()

    def __str__(self):
        found = len(self.findings) if isinstance(self.findings, list) else self.findings
        return f"exit code {self.code}, findings {found}, standard error: {self.err[-800:]}"


def deadheat_run(program, *args, options=(), before=(), limit=None, stdin=None, env=None, json_file=True, timeout=TIMEOUT,
                 close_stderr=False):
    report = WORK / "report.json"
    report.unlink(missing_ok=True)
    command = [*before, str(BUILD / "bin" / "deadheat"), "run", "--no-color", *options]
    if json_file:
        command += ["--json", str(report)]
    command += ["--", str(program), *map(str, args)]

    def prepare():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if close_stderr:
            os.close(2)

    process = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                             env=dict(os.environ, **(env or {})), preexec_fn=prepare)
    return Outcome(process, report)


class Case(unittest.TestCase):
    def expect(self, outcome, code, findings):
        self.assertEqual(outcome.code, code, outcome)
        self.assertIsInstance(outcome.findings, list, outcome)
        self.assertEqual(len(outcome.findings), findings, outcome)

    def expect_complaint(self, outcome, code, *words):
        self.assertEqual(outcome.code, code, outcome)
        for word in words:
            self.assertIn(word, outcome.err)
        first = outcome.err.strip().splitlines()[0]
        self.assertTrue(first.startswith("deadheat"), first)


class Reports(Case):
    def test_report_in_a_folder_that_is_not_there(self):
        outcome = deadheat_run(build("ends.c"), "exit", options=["--json", "/nonexistent/report.json"], json_file=False)
        self.expect_complaint(outcome, USAGE, "/nonexistent/report.json")

    def test_report_to_a_full_disk(self):
        outcome = deadheat_run(build("ends.c"), "none", "race", options=["--json", "/dev/full"], json_file=False)
        self.assertNotIn(outcome.code, (0, FINDINGS), outcome)
        self.assertIn("/dev/full", outcome.err)

    def test_no_place_for_temporary_files(self):
        outcome = deadheat_run(build("ends.c"), "none", "race", env={"TMPDIR": "/nonexistent"})
        if outcome.code != FINDINGS:  # either it finds another place, or it says so
            self.expect_complaint(outcome, USAGE, "/nonexistent")

    def test_standard_error_is_closed_from_the_start(self):
        self.expect(deadheat_run(build("ends.c"), "none", "race", close_stderr=True), FINDINGS, 1)

    def test_program_closes_standard_error(self):
        self.expect(deadheat_run(build("streams.c"), "close"), FINDINGS, 1)

    def test_program_closes_standard_error_without_deadheat_run(self):
        process = subprocess.run([str(build("streams.c")), "close"], capture_output=True, timeout=TIMEOUT)
        self.assertEqual(process.returncode, FINDINGS, process)

    def test_standard_streams_are_closed_from_the_start(self):
        for closed in ((0,), (1,), (0, 1)):
            with self.subTest(closed=closed):
                process = subprocess.run([str(build("ends.c")), "none", "race"], stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                                         preexec_fn=lambda closed=closed: [os.close(fd) for fd in closed])
                self.assertEqual(process.returncode, FINDINGS, process)
                self.assertEqual(process.stderr.count("data race on raced"), 1, process)

    def test_program_closes_descriptors_that_are_not_its_own(self):
        mine = WORK / "mine"
        for words in (("from",), ("each",), ("over", mine)):
            with self.subTest(words=words):
                self.expect(deadheat_run(build("closes.c"), *words), FINDINGS, 1)
        self.assertEqual(mine.read_bytes(), b"")

    def expect_names(self, outcome, name="raced", file="racer.h"):
        self.expect(outcome, FINDINGS, 1)
        finding = outcome.findings[0]
        self.assertEqual(finding["variable"].get("name"), name, outcome)
        for access in finding["accesses"]:
            self.assertEqual(os.path.basename(access["location"].get("file", "")), file, outcome)
            self.assertTrue(access["location"].get("function"), outcome)

    @unittest.skipIf(os.geteuid() != 0, "only root may change its root")
    def test_program_leaves_its_root(self):
        root = WORK / "root"
        root.mkdir(exist_ok=True)
        root.chmod(0o755)
        library = build("library.c", "-shared", "-fPIC", name="library.so")
        for flags in ((), ("-static",)):
            program = build("roots.c", *flags)
            for words in (("root", root), ("root", root, "user"), ("root", root, "fork"), ("fork", "root", root, "user"), ("user",)):
                with self.subTest(flags=flags, words=words):
                    self.expect_names(deadheat_run(program, *words))
        with self.subTest("a library loaded before"):
            self.expect_names(deadheat_run(build("roots.c"), "load", library, "root", root))

    @unittest.skipIf(os.geteuid() != 0, "only root may unmount /proc")
    def test_program_without_proc(self):
        library = build("library.c", "-shared", "-fPIC", name="library.so")
        program = build("roots.c")
        outcome = deadheat_run(program, "proc")
        if outcome.document["program"]["exit"] == 9:
            self.skipTest("mounts cannot be changed here")
        self.expect_names(outcome)
        self.expect_names(deadheat_run(program, "proc", "load", library))
        # And where there was none to begin with, the loader knows.
        without = ["unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
        self.expect_names(deadheat_run("sh", "-c", "umount -l /proc && exec " + str(program), before=["unshare", "-m"]))
        self.expect_names(deadheat_run(program, "load", library, before=without))

    @unittest.skipIf(os.geteuid() != 0, "only root may become somebody else")
    def test_program_that_may_not_read_itself_any_more(self):
        folder = WORK / "private"
        folder.mkdir(mode=0o700, exist_ok=True)
        program = shutil.copy(build("roots.c"), folder)
        process = subprocess.run([program, "user"], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(process.returncode, FINDINGS, process)
        # Or not even the tool.
        self.assertRegex(process.stderr, f"{program} cannot be read|the deadheat program cannot be reached")

    @unittest.skipIf(os.geteuid() != 0, "only root may change its root")
    def test_program_that_left_its_root_without_deadheat_run(self):
        root = WORK / "root"
        root.mkdir(exist_ok=True)
        for words in (("root", root), ("root", root, "user"), ("root", root, "all")):
            with self.subTest(words=words):
                process = subprocess.run([str(build("roots.c")), *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT)
                self.assertEqual(process.returncode, FINDINGS, process)
                lines = [line for line in process.stderr.splitlines() if line.startswith("deadheat: ")]
                self.assertEqual(len(lines), 1, process.stderr)
                self.assertIn("root", lines[0])
                self.assertIn('"t":"race"', process.stderr)
                self.assertIn(str(build("roots.c")), process.stderr)  # the module, for whoever wants to look by hand

    def test_standard_input_and_output_pass_through(self):
        outcome = deadheat_run(build("streams.c"), "echo", stdin="one\ntwo\n")
        self.expect(outcome, 0, 0)
        self.assertEqual(outcome.out, "one\ntwo\n")

    def test_much_output(self):
        size = (1 << 30) if LONG else (1 << 24)
        report = WORK / "much.json"
        process = subprocess.Popen([str(BUILD / "bin/deadheat"), "run", "--json", str(report), "--quiet", "--",
                                    str(build("streams.c")), "chatter", str(size)], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        counted = 0
        while block := process.stdout.read(1 << 20):
            counted += len(block)
        self.assertEqual(process.wait(TIMEOUT), FINDINGS)
        self.assertEqual(counted, size)
        self.assertEqual(len(json.loads(report.read_text())["findings"]), 1)


class Compilers(Case):
    def wrapper(self, *words, env=None, program="deadheat-cc"):
        process = subprocess.run([str(BUILD / "bin" / program), *words], capture_output=True, text=True, timeout=TIMEOUT,
                                 env=dict(os.environ, **(env or {})))
        return Outcome(process, WORK / "none")

    def test_missing_compiler(self):
        outcome = self.wrapper("-c", str(FOLDER / "programs/ends.c"), "-o", "/dev/null",
                               env={"DEADHEAT_CLANG": "/nonexistent/clang"})
        self.assertNotEqual(outcome.code, 0)
        self.assertIn("/nonexistent/clang", outcome.err)

    def test_missing_compiler_in_check(self):
        outcome = self.wrapper("check", str(FOLDER / "programs/ends.c"), env={"DEADHEAT_CLANG": "/nonexistent/clang"},
                               program="deadheat")
        self.assertEqual(outcome.code, USAGE, outcome)
        self.assertIn("/nonexistent/clang", outcome.err)

    def test_source_that_does_not_compile(self):
        bad = WORK / "bad.c"
        bad.write_text("int main(void) { return nonsense; }\n")
        outcome = self.wrapper("check", str(bad), program="deadheat")
        self.assertEqual(outcome.code, USAGE, outcome)
        self.assertIn("nonsense", outcome.err)

    def test_source_that_is_not_there(self):
        outcome = self.wrapper("check", "/nonexistent/file.c", program="deadheat")
        self.assertEqual(outcome.code, USAGE, outcome)

    def test_program_that_is_not_there(self):
        outcome = deadheat_run("/nonexistent/program")
        self.expect_complaint(outcome, USAGE, "/nonexistent/program")

    def test_program_that_is_not_instrumented(self):
        plain = build("ends.c", compiler="clang-19", name="plain")
        outcome = deadheat_run(plain, "none")
        self.assertIn("deadheat", outcome.err)
        self.assertNotEqual(outcome.code, 0, "nothing runs unwatched silently")


    def test_program_of_which_nothing_but_the_link_is_instrumented(self):
        plain = build("ends.c", "-c", compiler="clang-19", name="plain.o")
        linked = WORK / "linked"
        subprocess.run([str(BUILD / "bin/deadheat-cc"), "-pthread", str(plain), "-o", str(linked)], check=True, timeout=TIMEOUT)
        self.assertIn("only what library calls do was watched", deadheat_run(linked, "none").err)
        process = subprocess.run([str(linked), "none"], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertIn("only what library calls do was watched", process.stderr)
        self.assertEqual(process.returncode, 0)


    def test_functions_of_the_programs_own_with_names_of_posix(self):
        for flags in ((), ("-static",)):
            with self.subTest(flags=flags):
                outcome = deadheat_run(build("own_names.c", "-w", *flags), options=["--quiet"])
                self.expect(outcome, FINDINGS, 1)
                self.assertEqual(outcome.document["program"]["exit"], 0)


class Endings(Case):
    def test_ways_to_end(self):
        cases = {"none": 0, "exit": 7, "_exit": 7, "quick_exit": 7, "pthread_exit": 0, "segv": 139, "abort": 134,
                 "term": 143, "kill": 137}
        for way, code in cases.items():
            with self.subTest(way=way):
                outcome = deadheat_run(build("ends.c"), way)
                self.assertEqual(outcome.code, code, outcome)

    def test_findings_survive_every_ending(self):
        for way in ("none", "exit", "_exit", "quick_exit", "pthread_exit", "segv", "abort", "term", "kill"):
            with self.subTest(way=way):
                self.expect(deadheat_run(build("ends.c"), way, "race"), FINDINGS, 1)

    def test_ends_inside_a_thread(self):
        for way, code in {"exit": 7, "_exit": 7, "abort": 134, "segv": 139}.items():
            with self.subTest(way=way):
                self.assertEqual(deadheat_run(build("ends.c"), way, "thread").code, code)
                self.expect(deadheat_run(build("ends.c"), way, "thread", "race"), FINDINGS, 1)

    def test_double_free_is_what_it_is_without_us(self):
        native = subprocess.run([str(build("double_free.c", compiler="clang-19", name="native_double_free"))],
                                capture_output=True, text=True, timeout=TIMEOUT)
        outcome = deadheat_run(build("double_free.c"))
        self.expect(outcome, 128 - native.returncode, 0)
        self.assertIn(native.stderr.strip(), outcome.err)

    def test_simply_run(self):
        process = subprocess.run([str(build("ends.c")), "none", "race"], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(process.returncode, FINDINGS, process)
        self.assertIn("data race", process.stderr)
        process = subprocess.run([str(build("ends.c")), "exit"], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual((process.returncode, process.stderr), (7, ""))


class Memory(Case):
    def judge(self, outcome, must_work):
        if outcome.code == FINDINGS:
            self.expect(outcome, FINDINGS, 1)
            return
        self.assertFalse(must_work, outcome)
        # If it cannot work, one line says so. (Without memory for its threads, the program ends itself.)
        self.assertIn(outcome.code, (USAGE, FAULT, 128 + signal.SIGABRT), outcome)
        self.assertIn("deadheat: ", outcome.err)
        # Below its own size not even the kernel can load the program: it is killed before its first instruction.
        self.assertRegex(outcome.err, "memory|nothing was watched")

    def test_address_space_limits(self):
        for megabytes in (8192, 2048, 1024, 512):
            with self.subTest(megabytes=megabytes):
                self.judge(deadheat_run(build("ends.c"), "none", "race", limit=megabytes << 20), True)

    def test_address_space_limits_of_the_program_alone(self):
        for megabytes in (512, 256, 128, 64, 32, 16):
            with self.subTest(megabytes=megabytes):
                command = f"ulimit -v {megabytes << 10}; exec {build('ends.c')} none race"
                self.judge(deadheat_run("/bin/sh", "-c", command), megabytes >= 512)

    def test_program_that_runs_out_of_memory(self):
        outcome = deadheat_run(build("hungry.c"), 100000, limit=3 << 30)
        if outcome.code == FINDINGS:
            self.assertIn("refused", outcome.out)
        else:
            self.assertEqual(outcome.code, FAULT, outcome)
            self.assertIn("memory", outcome.err)


class Threads(Case):
    def test_a_thousand_live_threads(self):
        self.expect(deadheat_run(build("threads.c"), "live", 1000), FINDINGS, 1)

    def test_many_threads_over_time(self):
        count = 100000 if LONG else 4000
        self.expect(deadheat_run(build("threads.c"), "total", count, timeout=900), FINDINGS, 1)


class Processes(Case):
    def test_fork(self):
        outcome = deadheat_run(build("processes.c"), "fork")
        self.expect(outcome, FINDINGS, 1)

    def test_many_children_are_one_finding(self):
        outcome = deadheat_run(build("processes.c"), "many")
        self.expect(outcome, FINDINGS, 1)

    def test_exec_of_an_instrumented_program(self):
        outcome = deadheat_run(build("processes.c"), "exec", build("ends.c"), "none", "race")
        self.expect(outcome, FINDINGS, 1)

    def test_exec_of_another_program(self):
        outcome = deadheat_run(build("processes.c"), "exec", "/bin/echo", "hello")
        self.assertEqual((outcome.code, outcome.out), (0, "hello\n"), outcome)

    def test_clone_with_memory_of_its_own(self):
        for way in ("own", "syscall"):
            with self.subTest(way=way):
                self.expect(deadheat_run(build("clones.c", "-D_GNU_SOURCE"), way), FINDINGS, 1)

    def test_clone_while_the_parent_waits(self):
        self.expect(deadheat_run(build("clones.c", "-D_GNU_SOURCE"), "vfork"), 0, 0)

    def test_clone_that_would_be_its_own_parent(self):
        outcome = deadheat_run(build("clones.c", "-D_GNU_SOURCE"), "shared", timeout=20)
        self.expect_complaint(outcome, FAULT, "CLONE_VM", "pthread_create")

    def test_signals_all_the_time(self):
        for _ in range(5 if LONG else 1):
            outcome = deadheat_run(build("signals.c"))
            self.expect(outcome, 0, 0)
            self.assertEqual(outcome.out, "interrupted\n")


class Layouts(Case):
    def test_with_and_without_randomisation(self):
        self.expect(deadheat_run(build("ends.c"), "none", "race", before=["setarch", "-R"]), FINDINGS, 1)
        for _ in range(20 if LONG else 3):
            self.expect(deadheat_run(build("ends.c"), "none", "race"), FINDINGS, 1)

    def test_executables_of_every_kind(self):
        for flags in (["-no-pie"], ["-fPIE", "-pie"], ["-static-pie"], ["-static"], ["-flto"], ["-fuse-ld=lld-19"], ["-O0"],
                      ["-O3"], ["-g0"]):
            with self.subTest(flags=flags):
                self.expect(deadheat_run(build("ends.c", *flags), "none", "race"), FINDINGS, 1)

    def test_suppressions_that_the_program_brings_itself(self):
        program = build("own_suppressions.c")
        self.expect(deadheat_run(program), 0, 0)
        simply = subprocess.run([program], capture_output=True, text=True, check=False)
        self.assertEqual((simply.returncode, simply.stderr), (0, ""))

    def test_static_data_beyond_the_reach_of_instructions(self):
        self.expect(deadheat_run(build("large_data.c", "-mcmodel=medium")), FINDINGS, 1)

    def test_loaded_library(self):
        # Linkers lay out libraries in different ways; lld's code begins on the file's first page.
        for flags in ([], ["-fuse-ld=bfd"], ["-fuse-ld=lld-19"], ["-flto"], ["-Wl,-z,noseparate-code"]):
            with self.subTest(flags=flags):
                library = build("library.c", "-shared", "-fPIC", *flags, name="library.so")
                outcome = deadheat_run(build("host.c"), library)
                self.expect(outcome, FINDINGS, 1)
                functions = {access["location"].get("function") for access in outcome.findings[0]["accesses"]}
                self.assertEqual(functions, {"racer_first", "racer_second"}, outcome)

    def test_unloaded_libraries_are_told_apart(self):
        libraries = [build(source, "-shared", "-fPIC", name=f"{source}.so") for source in ("library.c", "other_library.c")]
        outcome = deadheat_run(build("reload.c"), *libraries)
        self.expect(outcome, FINDINGS, 2)
        told = {tuple(sorted(access["location"]["function"] for access in finding["accesses"])) for finding in outcome.findings}
        self.assertEqual(told, {("racer_first", "racer_second"), ("first_of_other", "second_of_other")}, outcome)

    def test_loaded_library_in_a_program_that_is_not_instrumented(self):
        library = build("library.c", "-shared", "-fPIC", name="library.so")
        host = build("host.c", compiler="clang-19", name="plain-host")
        outcome = deadheat_run(host, library)
        if outcome.code != FINDINGS:
            self.assertNotEqual(outcome.code, 0, outcome)
            self.assertIn("deadheat", outcome.err)


def main():
    global BUILD, LONG, WORK
    arguments = sys.argv[1:]
    if "--build-dir" in arguments:
        at = arguments.index("--build-dir")
        BUILD = Path(arguments[at + 1]).resolve()
        del arguments[at:at + 2]
    if "--long" in arguments:
        LONG = True
        arguments.remove("--long")
    with tempfile.TemporaryDirectory(prefix="deadheat-failures-") as work:
        WORK = Path(work)
        program = unittest.main(argv=[sys.argv[0], *arguments], exit=False)
    result = program.result
    broken = {str(getattr(test, "test_case", test)) for test, _ in result.failures + result.errors}
    print(f"{result.testsRun - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
