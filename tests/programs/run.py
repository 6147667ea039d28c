#!/usr/bin/env python3
"""Builds the labelled programs with the wrappers, runs them through `deadheat run --json`, compares the findings.

    tests/programs/run.py [--build-dir build] [--runs 20] [--opt -O0,-O2] [NAME...]

Every expected pair of places must be found on every run, and nothing else (labels.py says how programs state it).
Builds are cached in BUILD_DIR/test-programs, by their inputs: the source, its headers, the flags and Deadheat itself.
The last line says `N passed, N failed`; a program counts once per level and pass option, whatever the number of runs.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import labels

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
EXIT_FINDINGS = 66
# What a recording cannot hold (docs/record-and-replay.md): the child of a fork, stacks switched by hand. And what its analysis
# does not know: that a second free is one, which line called the C++ library, that the library's tables are benign, what
# libatomic does to objects too big for an instruction but to lock them, what x86's own intrinsics touch, and what strings and
# streams do to themselves inside the library.
NOT_RECORDED = ["race/process_fork_child.c", "race/fiber_lock.c", "race/fiber_switch.c", "norace/fiber_switch.c", "race/fiber_moves.c",
                "norace/fiber_moves.c", "race/context_moves.c", "norace/context_moves.c", "race/context_stays.c", "norace/context_stays.c",
                "race/context_boost.cc", "norace/context_boost.cc", "race/heap_second_free.c", "race/cxx_library_call.cc", "norace/cxx_regex.cc",
                "race/atomic_big_bytes.cc", "race/atomic_big_orders.cc", "race/bytes_gather.c", "race/bytes_x86_moves.c",
                "race/cxx_stream.cc", "race/cxx_string.cc", "race/cxx_string_old.cc", "race/cxx_string_short.cc",
                "race/mapping_read_only.c", "regress/atomic_faults.c"]
MOST_COMPLAINTS = 4  # in the table of differences, for one program
SWITCHES = ["escape", "readwrite", "dominated", "neighbours", "loops", "syncfree", "scopes", "handed", "inline", "direct"]


def run_process(command, timeout, env=None):
    """Like subprocess.run, but a timeout ends everything the command has started."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=env, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return None, out, err
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def own_line(frames, program):
    """The line, in the program's own file, of the innermost frame that is there."""
    for frame in frames:
        if os.path.basename(frame.get("file") or "") == program.path.name:
            return frame.get("line", 0)
    return 0


class Deadheat:
    name = "deadheat"

    def __init__(self, options):
        self.bin = options.build_dir / "bin"
        self.filter = options.filter
        self.stamp = hashlib.sha256()
        for part in sorted(options.build_dir.glob("bin/deadheat-*")) + sorted(options.build_dir.glob("lib/**/*")):
            if part.is_file() and (part.suffix in (".a", ".so") or part.parent.name == "bin"):
                status = part.stat()
                self.stamp.update(f"{part} {status.st_size} {status.st_mtime_ns}\n".encode())
        self.stamp = self.stamp.hexdigest()

    def compiler(self, program, switches):
        wrapper = self.bin / ("deadheat-c++" if program.is_cxx else "deadheat-cc")
        return [str(wrapper)] + ([f"--deadheat-opt={switches}"] if switches else [])

    def run(self, binary, program, output, timeout):
        report = output.with_suffix(".json")
        command = [str(self.bin / "deadheat"), "run", "--quiet", "--json", str(report)]
        if self.filter:
            command += ["--filter", self.filter]
        if program.suppressions:
            listed = output.with_suffix(".supp")
            listed.write_text("\n".join(program.suppressions) + "\n")
            command += ["--suppressions", str(listed)]
        report.unlink(missing_ok=True)
        code, _, err = run_process(command + ["--", str(binary)] + program.args, timeout)
        if code is None:
            return None, [f"did not end within {timeout} s"]
        return self.judge_report(report, code, err, program)

    @staticmethod
    def judge_report(report, code, err, program):
        try:
            document = json.loads(report.read_text())
        except (OSError, ValueError) as error:
            return None, [f"exit code {code}, no report: {error}", err.strip()[-400:]]
        findings = []
        for finding in document["findings"]:
            if len(finding["accesses"]) != 2:
                return None, [f"a finding with {len(finding['accesses'])} accesses"]
            findings.append(tuple((access["operation"], own_line([access["location"]] + access["stack"], program))
                                  for access in finding["accesses"]))
        wanted = EXIT_FINDINGS if findings else 0
        if code != wanted:
            return findings, [f"exit code {code}, expected {wanted}", err.strip()[-400:]]
        return findings, []


class Recorded(Deadheat):
    """The record lane: recorded, then analysed by replay with what the watch lane does online."""

    name = "recorded"

    def compiler(self, program, switches):
        return super().compiler(program, switches) + ["--deadheat-mode=record"]

    def run(self, binary, program, output, timeout):
        report = output.with_suffix(".json")
        report.unlink(missing_ok=True)
        folder = output.with_suffix(".dh")
        shutil.rmtree(folder, ignore_errors=True)
        tool = str(self.bin / "deadheat")
        try:
            code, _, err = run_process([tool, "run", "--mode", "record", "--quiet", "--out", str(folder), "--", str(binary)]
                                       + program.args, timeout)
            if code is None:
                return None, [f"did not end within {timeout} s"]
            if not folder.exists():
                return None, [f"exit code {code}, no recording", err.strip()[-400:]]
            command = [tool, "analyze", "--detectors", "fasttrack", "--quiet", "--json", str(report)]
            if program.suppressions:
                listed = output.with_suffix(".supp")
                listed.write_text("\n".join(program.suppressions) + "\n")
                command += ["--suppressions", str(listed)]
            code, _, err = run_process(command + [str(folder)], timeout)
            if code is None:
                return None, [f"analyze did not end within {timeout} s"]
            return self.judge_report(report, code, err, program)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class ThreadSanitizer:
    """The comparison: the same programs, the same judgement, clang's own -fsanitize=thread."""

    name = "tsan"
    stamp = "tsan"

    def __init__(self, options):
        self.bin = options.build_dir

    def compiler(self, program, _):
        return ["clang++-19" if program.is_cxx else "clang-19", "-fsanitize=thread"]

    def run(self, binary, program, output, timeout):
        environment = dict(os.environ, TSAN_OPTIONS="exitcode=66:second_deadlock_stack=0:detect_deadlocks=0"
                           ":report_signal_unsafe=0:report_thread_leaks=0:report_destroy_locked=0:report_mutex_bugs=0")
        if program.suppressions:
            listed = output.with_suffix(".supp")
            listed.write_text("\n".join(program.suppressions) + "\n")
            environment["TSAN_OPTIONS"] += f":suppressions={listed}"
        code, _, err = run_process(["setarch", "-R", str(binary)] + program.args, timeout, environment)
        if code is None:
            return None, [f"did not end within {timeout} s"]
        if code not in (0, EXIT_FINDINGS):
            return None, [f"exit code {code}"]
        findings = []
        for report in err.split("WARNING: ThreadSanitizer: ")[1:]:
            accesses = []
            for block in re.split(r"\n\s*\n", report):
                head = re.search(r"^  (Previous )?(atomic )?(write|read) of size \d+", block, re.M | re.I)
                if not head:
                    continue
                frames = [{"file": f, "line": int(n)} for f, n in re.findall(r"#\d+ .* (\S+?):(\d+)", block)]
                operation = ("atomic-" if head.group(2) else "") + head.group(3).lower()
                if re.search(r"#0 (free|operator delete|realloc)", block):
                    operation = "free"
                accesses.append((operation, own_line(frames, program)))
            if len(accesses) == 2:
                findings.append(tuple(accesses))
            else:
                findings.append((("any", -1), ("any", -1)))
        return findings, []


class Suite:
    def __init__(self, options):
        self.options = options
        self.cache = options.build_dir / "test-programs"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.headers = "".join(header.read_text() for header in sorted(FOLDER.glob("*.h")))
        self.locks = {}
        self.print_lock = threading.Lock()

    def build(self, tool, program, level, switches):
        flags = ["-g", level, "-pthread", f"-I{ROOT / 'include'}"] + program.flags
        command = tool.compiler(program, switches) + flags
        key = hashlib.sha256("\0".join(
            [program.path.read_text(), self.headers, tool.stamp, str(program.path)] + command).encode()).hexdigest()
        label = f"{program.kind}-{program.path.stem}{level}{switches}-{tool.name}".replace(",", "")
        binary = self.cache / label
        stamp = self.cache / (label + ".key")
        if not (binary.exists() and stamp.exists() and stamp.read_text() == key):
            stamp.unlink(missing_ok=True)
            code, out, err = run_process(command + [str(program.path), "-o", str(binary)], 300)
            if code != 0:
                return None, f"does not compile: {' '.join(command)}: {(err or out or '').strip()[-1500:]}"
            stamp.write_text(key)
        return binary, None

    def check(self, tool, program, level, switches, runs):
        """All runs of one program at one level: a list of complaints, and how often each expectation was met."""
        binary, problem = self.build(tool, program, level, switches)
        if problem:
            return [problem]
        if self.options.build_only:
            return []
        output = binary.with_name(binary.name + f".{threading.get_ident()}")
        complaints = {}
        for number in range(1, runs + 1):
            findings, problems = tool.run(binary, program, output, self.options.timeout)
            if findings is not None:
                problems = problems + program.judge(findings)
            for problem in problems:
                complaints.setdefault(problem, set()).add(number)
        for suffix in (".json", ".supp"):
            output.with_suffix(suffix).unlink(missing_ok=True)
        return [f"{text} (on {len(when)} of {runs} runs)" if runs > 1 else text for text, when in complaints.items()]

    def all(self, tool, work):
        """Runs `work`, a list of (program, level, switches, runs), on JOBS threads."""
        passed = failed = 0
        results = {}
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            futures = {pool.submit(self.check, tool, *item): item for item in work}
            for future in concurrent.futures.as_completed(futures):
                program, level, switches, _ = futures[future]
                complaints = future.result()
                results[(program.name, level, switches)] = complaints
                if not complaints:
                    passed += 1
                    continue
                failed += 1
                if not self.options.keep_quiet:
                    for complaint in complaints:
                        print(f"FAIL {program.name} {level} {switches}: {complaint}".replace("  ", " "), flush=True)
        return passed, failed, results


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only programs whose names contain one of these")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--opt", default="-O2", help="levels, separated by commas (write --opt=-O0,-O2)")
    parser.add_argument("--pass-options", default="", metavar="SWITCHES",
                        help="a setting for --deadheat-opt; several are separated by ';'; 'matrix' is each switch off "
                             "in turn, and all of them")
    parser.add_argument("--filter", choices=["spans", "tree", "none"])
    parser.add_argument("--lane", choices=["watch", "record"], default="watch")
    parser.add_argument("--quarter", action="store_true", help="every fourth program, and those about locals; the same ones every time")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="run N of the programs more often")
    parser.add_argument("--sample-runs", type=int, default=5)
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--compare-tsan", type=Path, metavar="FILE",
                        help="run under ThreadSanitizer instead, and write what it does differently to FILE")
    options = parser.parse_args()
    options.keep_quiet = bool(options.compare_tsan)
    options.build_dir = options.build_dir.resolve()
    return options


def write_comparison(path, programs, results, runs, level):
    """One line per program on which ThreadSanitizer differs from the labels."""
    lines = [f"# What ThreadSanitizer says otherwise than the labels, clang 19, {level}, {runs} runs each.",
             "# Written by tests/programs/run.py --compare-tsan; explained in tsan_explained.txt."]
    for program in programs:
        complaints = results[(program.name, level, "")]
        for complaint in complaints[:MOST_COMPLAINTS]:
            lines.append(f"{program.name}: {' '.join(complaint.split())}")
        if len(complaints) > MOST_COMPLAINTS:
            lines.append(f"{program.name}: and {len(complaints) - MOST_COMPLAINTS} others")
    path.write_text("\n".join(lines) + "\n")


def main():
    options = parse_arguments()
    try:
        programs = labels.load_all(FOLDER)
    except labels.LabelError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    if options.names:
        programs = [p for p in programs if any(name in p.name for name in options.names)]
    if options.quarter:
        programs = [p for i, p in enumerate(programs)
                    if i % 4 == 0 or p.path.stem.startswith(("stack_", "identity_reused", "heap_reuse"))]
    if not programs:
        print(f"run.py: no program is named like {' '.join(options.names)}", file=sys.stderr)
        return 2
    if options.lane == "record":
        programs = [p for p in programs if p.name not in NOT_RECORDED]
    lane = Recorded if options.lane == "record" else Deadheat
    tool = ThreadSanitizer(options) if options.compare_tsan else lane(options)
    if not options.compare_tsan and not (tool.bin / "deadheat").exists():
        print(f"run.py: {tool.bin}/deadheat: not built", file=sys.stderr)
        return 2
    settings = [s.strip() for s in options.pass_options.split(";")]
    if options.pass_options == "matrix":
        settings = [f"-{switch}" for switch in SWITCHES] + ["-all"]
    every = max(1, len(programs) // options.sample) if options.sample else 0
    work = [(program, level, setting, options.sample_runs if every and number % every == 0 else options.runs)
            for level in options.opt.split(",") for setting in settings for number, program in enumerate(programs)]
    suite = Suite(options)
    passed, failed, results = suite.all(tool, work)
    if options.compare_tsan:
        write_comparison(options.compare_tsan, programs, results, options.runs, options.opt)
        print(f"ThreadSanitizer agrees with the labels of {passed} programs and differs on {failed}")
        return 0
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
