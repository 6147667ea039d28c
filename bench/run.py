#!/usr/bin/env python3
"""make bench: native, ThreadSanitizer and Deadheat side by side.

Builds every workload with the three compilers (-O2 -g), then runs them interleaved: in every round each program runs
with each variant, one after the other, so that whatever else the machine does hits all three alike. Medians over the
rounds; ratios of medians; geometric means over the programs. One more run counts Deadheat's accesses and how many the
filter dropped.

The two processors of a virtual machine are near each other or far, as its host has put them, and a line of memory that
threads share takes four times as long in the one case as in the other. How long is measured before and after each run
(measure.c); a run during which they were not near, or moved, is made again, up to --again times, and what was measured
far from each other counts only where there is nothing else.

    bench/run.py                          everything, 5 rounds
    bench/run.py --rounds 3 sort queue    some programs
    bench/run.py --metric cpu             judge by processor time instead of elapsed time, on a machine that is busy
    bench/run.py --again 0                make no run again (what was far is left out all the same where some was near)
    bench/run.py --json build/bench.json  the figures for scripts
"""

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from variants import NATIVE, TSAN, BenchError, deadheat, newest, run
from workloads import HERE, ROOT, Where, all_workloads

# Processors are near each other if a line takes at most so many times as long as it ever did since the bench began.
NEAR = 1.6

# What the project promises of these figures.
GOAL_RATIO = 0.8
GOAL_WORST = 1.5


class Progress:
    """One line that changes on a terminal; nothing elsewhere."""

    def __init__(self):
        self.on = sys.stderr.isatty()

    def say(self, text):
        if self.on:
            sys.stderr.write("\r\x1b[K" + text[:100])
            sys.stderr.flush()

    def done(self):
        if self.on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def measure_tool(where):
    tool = where.work / "measure"
    source = HERE / "measure.c"
    if not tool.exists() or tool.stat().st_mtime < newest([source]):
        run([NATIVE.cc, "-O2", "-pthread", source, "-o", tool], where.work / "logs" / "measure.log")
    return tool


def run_once(workload, variant, where, extra_environment, timeout):
    """One run: seconds, processor seconds, peak kilobytes, a hash of the output."""
    workload.prepare_run(variant, where)
    result = where.work / f"result.{os.getpid()}"
    result.unlink(missing_ok=True)
    environment = dict(os.environ, **variant.environment, **extra_environment)
    command = [str(measure_tool(where)), str(result), *workload.command(variant, where)]
    errors = where.work / "logs" / f"{workload.name}.{variant.name}.stderr"
    digest = hashlib.sha256()
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                                   env=environment, start_new_session=True)
        deadline = time.monotonic() + timeout
        timer = threading.Timer(timeout, lambda: os.killpg(process.pid, 9))
        timer.start()
        for block in iter(lambda: process.stdout.read(1 << 20), b""):
            digest.update(block)
        process.wait()
        timer.cancel()
    if not result.exists():
        why = f"did not end within {timeout} s" if time.monotonic() >= deadline else "could not be measured"
        raise BenchError(f"{workload.name} ({variant.name}) {why}")
    status, wall, user, system, peak, *line = result.read_text().split()
    result.unlink()
    if status != "0":
        tail = errors.read_text(errors="replace").splitlines()[-5:]
        raise BenchError(f"{workload.name} ({variant.name}) failed with {status}:\n  " + "\n  ".join(tail))
    return {"wall": float(wall), "cpu": float(user) + float(system), "peak_kb": int(peak), "line_ns": max(map(float, line)),
            "output": digest.hexdigest() if workload.compare_output else ""}


def read_logs(prefix):
    """The statistics of a run's raw logs (one file per process), added up; and how many races were told."""
    total, races = {}, 0
    for path in prefix.parent.glob(prefix.name + ".*"):
        for line in path.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("t") == "race":
                races += 1
            if record.get("t") == "end":
                for key, value in record.get("statistics", {}).items():
                    if isinstance(value, (int, float)):
                        total[key] = total.get(key, 0) + value
        path.unlink()
    return total, races


def run_variant(workload, variant, where, options, timeout):
    """One run of any variant; Deadheat's writes its findings to a log instead of reporting them."""
    if variant.name != "deadheat":
        return run_once(workload, variant, where, {}, timeout), {}, 0
    prefix = where.work / "raw" / workload.name
    prefix.parent.mkdir(parents=True, exist_ok=True)
    text = f"log={prefix}" + (f":{options}" if options else "")
    figures = run_once(workload, variant, where, {"DEADHEAT_OPTIONS": text}, timeout)
    found, races = read_logs(prefix)
    return figures, found, races


def near_ones(runs, nearest):
    return [r for r in runs if r["line_ns"] <= nearest * NEAR]


def run_until_near(attempt, again, runs, nearest):
    """Runs `attempt` once more until the processors were near each other, appending to `runs`; the nearest line so far."""
    for _ in range(again + 1):
        figures = attempt()
        runs.append(figures)
        nearest = min(nearest, figures["line_ns"])
        if near_ones([figures], nearest):
            break
    return nearest


def median(values):
    return statistics.median(values)


def geometric_mean(values):
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def summarise(name, real, runs, counted, races, metric, nearest):
    row = {"program": name, "real": real, "races_told": races}
    # Of what was near and what was far nothing is compared with each other.
    all_near = all(near_ones(results, nearest) for results in runs.values())
    row["far"] = not all_near
    for variant, all_results in runs.items():
        results = near_ones(all_results, nearest) if all_near else all_results
        row[variant] = {"wall": median(r["wall"] for r in results), "cpu": median(r["cpu"] for r in results),
                        "peak_kb": median(r["peak_kb"] for r in all_results), "runs": len(results),
                        "made_again": len(all_results) - len(results)}
    base = max(row["native"][metric], 1e-3)
    for variant in ("tsan", "deadheat"):
        if variant in row:
            row[variant]["slowdown"] = row[variant][metric] / base
    if "tsan" in row and "deadheat" in row:
        row["ratio"] = row["deadheat"]["slowdown"] / row["tsan"]["slowdown"]
        row["memory_ratio"] = row["deadheat"]["peak_kb"] / row["tsan"]["peak_kb"]
    if counted:
        row["accesses"] = counted.get("accesses", 0)
        row["accesses_dropped"] = counted.get("accesses_dropped", 0)
        row["statistics"] = counted
    return row


def short(number):
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{suffix}"
    return f"{number:.0f}"


def print_table(rows, metric, out):
    head = f"{'program':<10} {'native':>8} {'TSan':>7} {'Deadheat':>9} {'ratio':>6} | {'native':>7} {'TSan':>7} " \
           f"{'Deadheat':>9} {'ratio':>6} | {'accesses':>8} {'dropped':>8} {'races':>5}"
    print(f"{'':<10} {'time (' + metric + ')':^33} | {'peak memory, MB':^32} |", file=out)
    print(head, file=out)
    print("-" * len(head), file=out)
    for r in rows:
        dropped = f"{100 * r['accesses_dropped'] / r['accesses']:.1f} %" if r.get("accesses") else "-"
        print(f"{r['program']:<10} {r['native'][metric]:>6.2f} s {r['tsan']['slowdown']:>6.1f}x "
              f"{r['deadheat']['slowdown']:>8.1f}x {r['ratio']:>6.2f} | {r['native']['peak_kb'] / 1024:>7.1f} "
              f"{r['tsan']['peak_kb'] / 1024:>7.1f} {r['deadheat']['peak_kb'] / 1024:>9.1f} {r['memory_ratio']:>6.2f} | "
              f"{short(r.get('accesses', 0)):>8} {dropped:>8} {r['races_told']:>5}", file=out)
    print("-" * len(head), file=out)
    means = overall(rows)
    print(f"{'geo. mean':<10} {'':>8} {means['tsan_slowdown']:>6.1f}x {means['deadheat_slowdown']:>8.1f}x "
          f"{means['ratio']:>6.2f} | {'':>7} {'':>7} {'':>9} {means['memory_ratio']:>6.2f} |", file=out)


def print_distances(rows, nearest, out):
    made_again = sum(r[v]["made_again"] for r in rows for v in ("native", "tsan", "deadheat"))
    far = [r["program"] for r in rows if r["far"]]
    if nearest == 0:
        return
    print(f"a line to the other processor and back: {nearest:.0f} ns at best; {made_again} runs that had it farther left out",
          file=out)
    if far:
        print(f"measured whatever the distance: {', '.join(far)}", file=out)


def overall(rows):
    return {"tsan_slowdown": geometric_mean([r["tsan"]["slowdown"] for r in rows]),
            "deadheat_slowdown": geometric_mean([r["deadheat"]["slowdown"] for r in rows]),
            "ratio": geometric_mean([r["ratio"] for r in rows]),
            "worst_ratio": max(r["ratio"] for r in rows),
            "memory_ratio": geometric_mean([r["memory_ratio"] for r in rows]),
            "worst_memory_ratio": max(r["memory_ratio"] for r in rows)}


def judge(rows):
    """What the project promises, and whether these figures keep it."""
    means = overall(rows)
    worst = max(rows, key=lambda r: r["ratio"])
    fat = sorted((r for r in rows if r["memory_ratio"] > 1.0), key=lambda r: -r["memory_ratio"])
    above = "; above it: " + ", ".join(f"{r['program']} {r['memory_ratio']:.2f}" for r in fat) if fat else ""
    return [(f"geometric mean at most {GOAL_RATIO} of ThreadSanitizer's: {means['ratio']:.2f}", means["ratio"] <= GOAL_RATIO),
            (f"no program above {GOAL_WORST} of it: {worst['program']} {worst['ratio']:.2f}", worst["ratio"] <= GOAL_WORST),
            (f"peak memory on the whole no higher: {means['memory_ratio']:.2f}{above}", means["memory_ratio"] <= 1.0)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="only these (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--again", type=int, default=4,
                        help="how often a run is made again that had its processors far from each other (default: 4)")
    parser.add_argument("--metric", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="Deadheat's build folder")
    parser.add_argument("--third-party", type=Path, default=None, help="where sources are unpacked")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--options", default="", help="more DEADHEAT_OPTIONS, for example filter=none")
    parser.add_argument("--no-count", action="store_true", help="skip the run that counts accesses")
    parser.add_argument("--small", action="store_true", help="skip the Debian packages")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for one run")
    parser.add_argument("--list", action="store_true", help="name the programs and stop")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a promise is not kept")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    workloads = all_workloads()
    if arguments.list:
        print("\n".join(w.name for w in workloads))
        return 0
    unknown = set(arguments.programs) - {w.name for w in workloads}
    if unknown:
        raise BenchError(f"no program named {', '.join(sorted(unknown))}; bench/run.py --list names them")
    if arguments.rounds < 1:
        raise BenchError(f"--rounds: expected 1 or more, found {arguments.rounds}")
    if arguments.again < 0:
        raise BenchError(f"--again: expected 0 or more, found {arguments.again}")
    if arguments.programs:
        workloads = [w for w in workloads if w.name in arguments.programs]
    elif arguments.small:
        workloads = [w for w in workloads if not w.real]

    build = arguments.build.resolve()
    where = Where(build, build / "bench-run", (arguments.third_party or build / "third_party").resolve())
    variants = [NATIVE, TSAN, deadheat(build)]
    progress = Progress()

    failed = {}
    for number, workload in enumerate(workloads, 1):
        for variant in variants:
            progress.say(f"building {workload.name} ({variant.name}), {number} of {len(workloads)}")
            try:
                workload.build(variant, where)
            except BenchError as error:
                failed[workload.name] = str(error)

    runs = {w.name: {v.name: [] for v in variants} for w in workloads}
    counted, races = {}, {}
    nearest = math.inf
    for round_number in range(arguments.rounds):
        for workload in workloads:
            if workload.name in failed:
                continue
            for variant in variants:
                progress.say(f"round {round_number + 1} of {arguments.rounds}: {workload.name} ({variant.name})")

                def attempt(workload=workload, variant=variant):
                    figures, _, told = run_variant(workload, variant, where, arguments.options, arguments.timeout)
                    races[workload.name] = max(told, races.get(workload.name, 0))
                    return figures

                try:
                    nearest = run_until_near(attempt, arguments.again, runs[workload.name][variant.name], nearest)
                except BenchError as error:
                    failed[workload.name] = str(error)
                    break
            else:
                outputs = {r["output"] for results in runs[workload.name].values() for r in results}
                if len(outputs) > 1:
                    failed[workload.name] = f"{workload.name}: its output is not the same with every compiler"
    if not arguments.no_count:
        for workload in workloads:
            if workload.name in failed:
                continue
            progress.say(f"counting accesses: {workload.name}")
            options = "count=1" + (f":{arguments.options}" if arguments.options else "")
            try:
                _, counted[workload.name], _ = run_variant(workload, variants[2], where, options, arguments.timeout * 3)
            except BenchError as error:
                failed[workload.name] = str(error)
    progress.done()

    rows = [summarise(w.name, w.real, runs[w.name], counted.get(w.name), races.get(w.name, 0), arguments.metric, nearest)
            for w in workloads if w.name not in failed]
    kept = True
    if rows:
        print_table(rows, arguments.metric, sys.stdout)
        print_distances(rows, nearest, sys.stdout)
        for text, good in judge(rows):
            print(f"{'kept' if good else 'MISSED':<7} {text}")
            kept = kept and good
    for message in failed.values():
        print(f"bench: {message}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": arguments.rounds, "metric": arguments.metric, "rows": rows,
                                              "overall": overall(rows) if rows else {}, "failed": failed}, indent=1) + "\n")
    if failed:
        return 1
    return 0 if kept or not arguments.check else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
