#!/usr/bin/env python3
"""make bench-record: what recording costs, how large a recording is, and how fast it replays.

Builds every program with clang, with ThreadSanitizer and for the record lane (-O2 -g), and runs the three interleaved,
so that whatever else the machine does hits all alike. Every recording is then replayed, and counts only if every region
of it was verified. Medians over the rounds; ratios of medians; geometric means over the programs.

    bench/record.py                         everything, 3 rounds
    bench/record.py --rounds 1 sort queue   some programs
    bench/record.py --metric cpu            processor time: program and writer together
    bench/record.py --scale 400 --small     the small programs with four times their work
    bench/record.py --threads 8 pbzip2      packages with eight worker threads (the small programs have two)

Columns: time native; slowdown of ThreadSanitizer and of recording; the recording on disk; bits on disk per value hook
(loads, results of calls, addresses) and per executed instruction of LLVM's IR; peak memory against native; processor time
of the first replay, which compiles the program's functions, and of the next one, which finds them in the cache,
against the native run's.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from run import BenchError, Progress, geometric_mean, median, run_once
from variants import NATIVE, TSAN, Variant
from workloads import ROOT, Where, all_workloads

GOAL_SLOWDOWN = 5.0
GOAL_REPLAY = 3.0
GOAL_BITS = 1.0


def recording_variant(build):
    tools = build / "bin"
    return Variant("record", str(tools / "deadheat-cc"), str(tools / "deadheat-c++"), "--deadheat-mode=record")


class Recorded:
    """A workload whose command is run under `deadheat run --mode record`."""

    def __init__(self, workload, build, folder):
        self.workload, self.build, self.folder = workload, build, folder
        self.name = workload.name
        self.compare_output = workload.compare_output

    def prepare_run(self, variant, where):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.workload.prepare_run(variant, where)

    def command(self, variant, where):
        return [str(self.build / "bin" / "deadheat"), "run", "--mode", "record", "--quiet", "--out", str(self.folder), "--",
                *self.workload.command(variant, where)]


def replay(build, folder, cache, timeout, *options):
    """Replays a recording; its figures, or why it failed."""
    started = os.times()
    begin = time.monotonic()
    done = subprocess.run([build / "bin" / "deadheat", "replay", "--json", "-", *options, folder], capture_output=True, text=True,
                          timeout=timeout, env=dict(os.environ, XDG_CACHE_HOME=str(cache)))
    ended = os.times()
    cpu = ended.children_user + ended.children_system - started.children_user - started.children_system
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    report = json.loads(done.stdout)
    return {"cpu": cpu, "wall": time.monotonic() - begin, **report["statistics"], **report["summary"]}, None


def values_of(build, folder):
    """How many value hooks the recorded run passed: predicted and logged."""
    done = subprocess.run([build / "bin" / "deadheat", "recording", "stat", folder], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        words = line.split()
        if words and words[0] == "values":
            return int(words[1])
    raise BenchError(f"recording stat failed: {done.stderr.strip()}")


def scale(workload, percent):
    """The program's work in percent is its first argument."""
    command = workload.command
    workload.command = lambda variant, where: [*command(variant, where), str(percent)]


def measure(workload, variants, where, build, arguments, progress, round_number):
    folder = where.work / "recording" / workload.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    results = {}
    for variant in variants:
        progress.say(f"round {round_number + 1} of {arguments.rounds}: {workload.name} ({variant.name})")
        subject = Recorded(workload, build, folder) if variant.name == "record" else workload
        results[variant.name] = run_once(subject, variant, where, {}, arguments.timeout)
    results["disk"] = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and "modules" not in p.parts)
    results["values"] = values_of(build, folder)
    if not arguments.no_replay:
        progress.say(f"round {round_number + 1} of {arguments.rounds}: {workload.name} (replay)")
        cache = where.work / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        results["replay"], problem = replay(build, folder, cache, arguments.timeout * 3)
        if not problem:
            results["again"], problem = replay(build, folder, cache, arguments.timeout * 3)
        if not problem and round_number == 0:
            progress.say(f"round {round_number + 1} of {arguments.rounds}: {workload.name} (counting instructions)")
            results["counted"], problem = replay(build, folder, cache, arguments.timeout * 3, "--count")
        if problem:
            results["problem"] = problem
    shutil.rmtree(folder, ignore_errors=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--metric", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--third-party", type=Path, default=None)
    parser.add_argument("--small", action="store_true", help="skip the Debian packages")
    parser.add_argument("--no-replay", action="store_true")
    parser.add_argument("--scale", type=int, default=100, help="work of the small programs, in percent")
    parser.add_argument("--threads", type=int, default=2, help="worker threads of the packages")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    workloads = all_workloads()
    unknown = set(arguments.programs) - {w.name for w in workloads}
    if unknown:
        raise BenchError(f"no program named {', '.join(sorted(unknown))}")
    workloads = [w for w in workloads if (w.name in arguments.programs if arguments.programs
                                          else not (arguments.small and w.real))]
    for workload in workloads:
        if workload.real:
            workload.threads = arguments.threads
    if arguments.scale != 100:
        for workload in workloads:
            if not workload.real:
                scale(workload, arguments.scale)
    build = arguments.build.resolve()
    where = Where(build, build / "bench-record", (arguments.third_party or build / "third_party").resolve())
    variants = [NATIVE, TSAN, recording_variant(build)]
    progress = Progress()
    rows, failed = {}, {}
    for workload in workloads:
        for variant in variants:
            progress.say(f"building {workload.name} ({variant.name})")
            try:
                workload.build(variant, where)
            except BenchError as error:
                failed[workload.name] = str(error)
    for round_number in range(arguments.rounds):
        for workload in workloads:
            if workload.name in failed:
                continue
            try:
                rows.setdefault(workload.name, []).append(
                    measure(workload, variants, where, build, arguments, progress, round_number))
            except (BenchError, subprocess.TimeoutExpired) as error:
                failed[workload.name] = f"{workload.name}: {error}"
    progress.done()

    metric = arguments.metric
    head = f"{'program':<10} {'native':>8} {'TSan':>7} {'record':>7} | {'disk MB':>8} {'bits/value':>10} {'bits/instr':>10} | " \
           f"{'memory':>7} | {'replay':>7} {'again':>7}  verified"
    print(head)
    print("-" * len(head))
    table = []
    for name, results in rows.items():
        if name in failed or not results:
            continue
        base = max(median([r["native"][metric] for r in results]), 1e-3)
        row = {"program": name, "native": base,
               "tsan": median([r["tsan"][metric] for r in results]) / base,
               "record": median([r["record"][metric] for r in results]) / base,
               "disk": median([r["disk"] for r in results]),
               "bits": median([r["disk"] * 8 / max(r["values"], 1) for r in results]),
               "memory": median([r["record"]["peak_kb"] for r in results]) / median([r["native"]["peak_kb"] for r in results])}
        counted = [r for r in results if r.get("counted")]
        row["bits_instruction"] = median([r["disk"] * 8 / max(r["counted"]["instructions"], 1) for r in counted]) \
            if counted else float("nan")
        for column in ("replay", "again"):
            times = [r[column]["cpu"] / max(r["native"]["cpu"], 1e-3) for r in results if r.get(column)]
            row[column] = median(times) if times else float("nan")
        row["verified"] = f"{sum(1 for r in results if r.get('again'))} of {len(results)}"
        problems = [r["problem"] for r in results if r.get("problem")]
        if problems:
            row["problem"] = problems[0]
        table.append(row)
        print(f"{name:<10} {base:>6.2f} s {row['tsan']:>6.1f}x {row['record']:>6.1f}x | {row['disk'] / 2**20:>8.1f} "
              f"{row['bits']:>10.3f} {row['bits_instruction']:>10.3f} | {row['memory']:>6.1f}x | {row['replay']:>6.1f}x "
              f"{row['again']:>6.1f}x  {row['verified']}")
    print("-" * len(head))
    if table:
        def mean_of(column):
            numbers = [r[column] for r in table if r[column] == r[column]]
            return geometric_mean(numbers) if numbers else float("nan")

        mean, tsan, first, again = (mean_of(column) for column in ("record", "tsan", "replay", "again"))
        bits, per_instruction = mean_of("bits"), mean_of("bits_instruction")
        print(f"{'geo. mean':<10} {'':>8} {tsan:>6.1f}x {mean:>6.1f}x | {'':>8} {bits:>10.3f} {per_instruction:>10.3f} | {'':>7} | "
              f"{first:>6.1f}x {again:>6.1f}x")
        for text, good in ((f"recording at most {GOAL_SLOWDOWN:g} times: {mean:.2f}", mean <= GOAL_SLOWDOWN),
                           (f"below ThreadSanitizer's {tsan:.2f}", mean < tsan),
                           (f"first replay, compilation included, at most {GOAL_REPLAY:g} times native: {first:.2f}",
                            first <= GOAL_REPLAY),
                           (f"later replays at most {GOAL_REPLAY:g} times native: {again:.2f}", again <= GOAL_REPLAY),
                           (f"at most {GOAL_BITS:g} bit per instruction: {per_instruction:.3f}", per_instruction <= GOAL_BITS)):
            print(f"{'kept' if good else 'MISSED':<7} {text}")
    for row in table:
        if "problem" in row:
            print(f"bench: {row['program']}: replay: {row['problem']}", file=sys.stderr)
    for message in failed.values():
        print(f"bench: {message}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps({"metric": metric, "rounds": arguments.rounds, "rows": table}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
