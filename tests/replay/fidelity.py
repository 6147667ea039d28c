#!/usr/bin/env python3
"""Records programs and replays every recording: how many were verified, region by region.

    tests/replay/fidelity.py [--build-dir build] [--runs 20] [--opt -O0,-O1,-O2,-O3] [NAME...]
    tests/replay/fidelity.py --stress 1000      the stress program, that many seeds, spread over the levels
    tests/replay/fidelity.py --sample 12        some of the labelled programs only, the same ones every time
    tests/replay/fidelity.py --journal FILE ... go on with a run that was interrupted

A recording counts as faithful when the program itself ended as it does unrecorded, `deadheat recording check` finds
nothing wrong, and `deadheat replay` has verified every region of every thread. Programs are those of tests/programs.
Builds are cached in BUILD_DIR/test-replay; each process checks or replays many recordings of one program. The last line says `N of N recordings verified`; exit code 1 if not all.
"""

import argparse
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "programs"))
import labels  # noqa: E402

BATCH = 20  # recordings that one process checks, and another replays
KEEPING = threading.Lock()


def run_process(command, timeout):
    """Exit code (None: it did not end in time), and standard error."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        _, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        return None, err.decode(errors="replace")
    return process.returncode, err.decode(errors="replace")


class Subject:
    """A program at one level of optimisation."""

    def __init__(self, name, source, is_cxx, flags, runs, level):
        self.name, self.source, self.is_cxx, self.flags, self.runs, self.level = name, source, is_cxx, flags, runs, level
        self.lock = threading.Lock()

    def build(self, options, work):
        self.binary = work / f"{self.name.replace('/', '.')}{self.level}"
        wrapper = options.build_dir / "bin" / ("deadheat-c++" if self.is_cxx else "deadheat-cc")
        library = options.build_dir / "lib" / "deadheat"
        newest = max(p.stat().st_mtime for p in (self.source, library / "libdeadheat_record.a", library / "deadheat_plugin.so",
                                                 *(ROOT / "tests" / "programs").glob("*.h")))
        if self.binary.exists() and self.binary.stat().st_mtime > newest:
            return None
        code, err = run_process([wrapper, "--deadheat-mode=record", self.level, "-g", "-pthread", "-I", ROOT / "include",
                                 *self.flags, self.source, "-o", self.binary], 300)
        return None if code == 0 else f"cannot be built: {err.strip()[:300]}"

    def record(self, options, arguments, recording):
        """One recording: what is wrong with it, or None."""
        code, err = run_process([options.tool, "run", "--mode", "record", "--quiet", "--out", recording, "--", self.binary,
                                 *arguments], options.timeout)
        if code is None:
            return "recording did not end"
        if code in (2, 70) and "deadheat:" in err:
            return f"recording: {err.strip()[:300]}"
        return None

    @staticmethod
    def verify(options, recordings):
        """Checks and replays all of them, in one process each: what is wrong, or None."""
        for step in ("recording check", "replay"):
            code, err = run_process([options.tool, *step.split(), *recordings], options.timeout * len(recordings))
            if code is None:
                return f"{step} did not end"
            if code != 0:
                return f"{step}: exit code {code}: {err.strip()[-400:]}"
        return None

    def build_and_run(self, options, work, runs):
        """The same, of a program that may not be built yet."""
        with self.lock:
            problem = self.build(options, work)
        return [problem] * len(runs) if problem else self.batch(options, runs)

    def batch(self, options, runs):
        """Recordings of these runs (their arguments) and their replays: what is wrong with each, None if nothing is."""
        folder = Path(tempfile.mkdtemp(prefix="deadheat-fidelity-"))
        try:
            recordings = [folder / str(number) for number in range(len(runs))]
            problems = [self.record(options, arguments, recording) for arguments, recording in zip(runs, recordings)]
            good = [recording for recording, problem in zip(recordings, problems) if problem is None]
            if good and self.verify(options, good) is not None:
                problems = [problem or self.verify(options, [recording])
                            for problem, recording in zip(problems, recordings)]
            if options.keep:
                bad = [recording for recording, problem in zip(recordings, problems) if problem] or recordings[-1:]
                with KEEPING:
                    if bad[0].exists():
                        shutil.rmtree(options.keep, ignore_errors=True)
                        shutil.copytree(bad[0], options.keep)
            return problems
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Journal:
    """Batches that were verified as a whole, a line each: a run that was interrupted goes on where it was."""

    def __init__(self, path):
        self.path = path
        self.lines = set(path.read_text().splitlines()) if path and path.exists() else set()

    @staticmethod
    def line(subject, first, runs):
        return f"{subject.name} {subject.level} {first} {len(runs)}"

    def has(self, subject, first, runs):
        return self.line(subject, first, runs) in self.lines

    def add(self, subject, first, runs):
        if self.path:
            with open(self.path, "a") as file:
                file.write(self.line(subject, first, runs) + "\n")


def subjects_of(options):
    levels = options.opt.split(",")
    if options.stress:
        seeds = list(range(1, options.stress + 1))
        return [Subject("stress", FOLDER / "stress.cc", True, ["-std=c++20"],
                        [[str(seed)] for seed in seeds[i::len(levels)]], level) for i, level in enumerate(levels)]
    # Stacks that are switched by hand cannot be replayed (docs/record-and-replay.md).
    programs = [p for p in labels.load_all(ROOT / "tests" / "programs") if not p.path.stem.startswith(("fiber_", "context_"))]
    if options.names:
        programs = [p for p in programs if any(name in p.name for name in options.names)]
    if options.sample and options.sample < len(programs):
        step = len(programs) / options.sample
        programs = [programs[int(i * step)] for i in range(options.sample)]
    return [Subject(p.name, p.path, p.is_cxx, p.flags, [p.args] * options.runs, level)
            for p in programs for level in levels]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--opt", default="-O2")
    parser.add_argument("--stress", type=int, default=0)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--journal", type=Path, help="note here what was verified, and leave out what is noted already")
    parser.add_argument("--keep", type=Path, help="leave the last recording here")
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.tool = options.build_dir / "bin" / "deadheat"
    work = options.build_dir / "test-replay"
    work.mkdir(parents=True, exist_ok=True)

    subjects = subjects_of(options)
    good, bad, problems = {}, {}, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        journal = Journal(options.journal)
        tasks = {}
        total = sum(len(subject.runs) for subject in subjects)
        for subject in subjects:
            for i in range(0, len(subject.runs), BATCH):
                runs = subject.runs[i:i + BATCH]
                if journal.has(subject, i, runs):
                    good[subject.level] = good.get(subject.level, 0) + len(runs)
                else:
                    tasks[pool.submit(subject.build_and_run, options, work, runs)] = (subject, i, runs)
        for task in concurrent.futures.as_completed(tasks):
            subject, first, runs = tasks[task]
            if not any(task.result()):
                journal.add(subject, first, runs)
            for arguments, problem in zip(runs, task.result()):
                counts = good if problem is None else bad
                counts[subject.level] = counts.get(subject.level, 0) + 1
                if problem:
                    problems.append(f"{subject.name} {subject.level} {' '.join(arguments)}: {problem}")
                    print(problems[-1], file=sys.stderr, flush=True)
            if sys.stderr.isatty():
                done = sum(good.values()) + sum(bad.values())
                sys.stderr.write(f"\r\x1b[K{done} of {total}, {sum(bad.values())} not verified")
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    for problem in sorted(problems):
        print(problem)
    for level in options.opt.split(","):
        print(f"{level}: {good.get(level, 0)} of {good.get(level, 0) + bad.get(level, 0)} verified")
    total = sum(good.values())
    print(f"{total} of {total + sum(bad.values())} recordings verified")
    return 0 if not bad else 1


if __name__ == "__main__":
    sys.exit(main())
