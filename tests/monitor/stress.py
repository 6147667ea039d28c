#!/usr/bin/env python3
"""make test-monitor-stress: thousands of random programs without a race, at every sampling rate; not one report.

    tests/monitor/stress.py [--build-dir build] [--files 50] [--programs 20] [--seed 1] [--runs 1]

A file of generate.py is compiled once, at a level that goes round, and run with every setting below. A report, a crash
or a program that does not end is a failure; its source is kept. The control is the same file with its locks left out of
one section: that one must be reported, or the test tests nothing.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import generate  # noqa: E402

SETTINGS = ["cap=0", "cap=10", "cap=10 random_cap=1", "cap=0 sample=50% period=4", "cap=0 sample=10% period=4",
            "cap=3 sample=1% period=10", "budget=5% period=10"]
LEVELS = ["-O2", "-O1", "-O0", "-O3"]


def races_in(prefix):
    races, starts = [], 0
    for path in prefix.parent.glob(prefix.name + ".*"):
        for line in path.read_text(errors="replace").splitlines():
            if '"t":"race"' in line:
                races.append(line)
            if '"monitor_starts":' in line:
                starts += int(line.split('"monitor_starts":')[1].split(",")[0])
        path.unlink()
    return races, starts


def check_file(options, seed):
    """Failures, and how many monitors were started."""
    folder = options.build_dir / "test-monitor"
    source, binary = folder / f"stress-{seed}.cc", folder / f"stress-{seed}"
    source.write_text(generate.generate(seed, options.programs))
    level = LEVELS[seed % len(LEVELS)]
    built = subprocess.run([str(options.build_dir / "bin" / "deadheat-c++"), "--deadheat-mode=monitor", "-std=c++20", level,
                            "-g1", "-w", "-pthread", str(source), "-o", str(binary)], capture_output=True, text=True)
    if built.returncode != 0:
        return [f"seed {seed}: does not compile: {built.stderr[-600:]}"], 0
    failures, starts = [], 0
    for number, setting in enumerate(options.settings):
        for _ in range(options.runs):
            prefix = folder / f"stress-{seed}.{number}.raw"
            try:
                done = subprocess.run([str(binary)], env={**os.environ, "DEADHEAT_OPTIONS": f"log={prefix} {setting}"},
                                      capture_output=True, text=True, timeout=options.timeout)
                if done.returncode != 0:
                    failures.append(f"seed {seed} {level} {setting}: exit code {done.returncode} {done.stderr[-300:]}")
            except subprocess.TimeoutExpired:
                failures.append(f"seed {seed} {level} {setting}: did not end within {options.timeout} s")
            races, started = races_in(prefix)
            starts += started
            failures += [f"seed {seed} {level} {setting}: {race[:600]}" for race in races]
    binary.unlink(missing_ok=True)
    if not failures:
        source.unlink()
    return failures, starts


def control(options):
    """One mutex section without its mutex must be seen."""
    folder = options.build_dir / "test-monitor"
    source, binary = folder / "control.cc", folder / "control"
    writer = generate.Writer(generate.random.Random(7))
    writer.add("static long data[4];\nstatic OUT void work() { for (int r = 0; r < 200000; ++r) data[r & 3] += r; }")
    source.write_text(generate.PROLOGUE + "\n".join(writer.lines) +
                      "\nint main() { std::thread a(work), b(work); a.join(); b.join(); }\n")
    subprocess.run([str(options.build_dir / "bin" / "deadheat-c++"), "--deadheat-mode=monitor", "-std=c++20", "-O1", "-g1",
                    "-w", "-pthread", str(source), "-o", str(binary)], check=True)
    for _ in range(5):
        prefix = folder / "control.raw"
        subprocess.run([str(binary)], env={**os.environ, "DEADHEAT_OPTIONS": f"log={prefix} cap=0"}, timeout=60)
        if races_in(prefix)[0]:
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--programs", type=int, default=20, help="in a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--settings", default="", help="instead of all: settings of DEADHEAT_OPTIONS, separated by commas")
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.settings = options.settings.split(",") if options.settings else SETTINGS
    (options.build_dir / "test-monitor").mkdir(parents=True, exist_ok=True)
    if not control(options):
        print("stress: a program with a race was not reported: this test would test nothing")
        return 1
    failed, starts = 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for failures, started in pool.map(lambda n: check_file(options, options.seed + n), range(options.files)):
            starts += started
            for failure in failures:
                failed += 1
                print("FAIL " + failure, flush=True)
    count = options.files * options.programs
    print(f"{count} programs without a race, {count * len(options.settings) * options.runs} runs, {starts} monitors "
          f"started: {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
