#!/usr/bin/env python3
"""make bench-monitor: native, ThreadSanitizer, the watch lane and the monitor lane's settings, side by side.

The programs of `make bench`, interleaved in the same way: every round runs each program with each variant, one after the
other. Medians (or the best round, for a busy machine); slowdowns against native; peak memory. Then each small program is
built again with a race in it (BENCH_RACY: calls are counted without a lock), and of the races that the watch lane
finds in one run, those that each setting of the monitor lane finds in one run are counted.

    bench/monitor/run.py [--rounds 3] [--metric cpu] [--best] [--small] [--json FILE] [PROGRAM...]
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import run as bench  # noqa: E402
from variants import NATIVE, TSAN, BenchError, Variant, deadheat  # noqa: E402
from workloads import ROOT, Where, all_workloads  # noqa: E402


SLOW = ("TSan", "watch", "full")


@dataclass(frozen=True)
class Column:
    name: str
    variant: Variant
    options: str = ""
    is_ours: bool = False
    goal: float = field(default=0.0)


def columns(build):
    watch = deadheat(build)
    monitor = Variant("monitor", watch.cc, watch.cxx, "--deadheat-mode=monitor")
    ours = [("full", "cap=0", 0), ("capped", "cap=10", 3.0), ("50 %", "sample=50%", 0), ("10 %", "sample=10%", 1.3),
            ("1 %", "sample=1%", 1.05), ("budget 5 %", "budget=5%", 1.07),
            # Half a millisecond of five seconds: what is left is what no budget governs.
            ("closed", "sample=0.01%", 0)]
    return [Column("native", NATIVE), Column("TSan", TSAN), Column("watch", watch, is_ours=True)] + \
        [Column(name, monitor, options, True, goal) for name, options, goal in ours]


def run_column(workload, column, where, timeout):
    if not column.is_ours:
        return bench.run_once(workload, column.variant, where, {}, timeout), 0
    prefix = where.work / "raw" / f"{workload.name}.{column.variant.name}"
    prefix.parent.mkdir(parents=True, exist_ok=True)
    text = f"log={prefix}" + (f" {column.options}" if column.options else "")
    figures = bench.run_once(workload, column.variant, where, {"DEADHEAT_OPTIONS": text}, timeout)
    return figures, bench.read_logs(prefix)[1]


def places(report):
    """The races of a report: pairs of operations and lines."""
    return {frozenset((a["operation"], a["location"].get("file"), a["location"].get("line")) for a in finding["accesses"])
            for finding in json.loads(report.read_text())["findings"]}


def count_races(workload, table, where, timeout):
    """{column: how many of the watch lane's races in the racy variant}, one run each; None if the watch lane has none."""
    found = {}
    report = where.work / "racy.json"
    for column in table:
        if not column.is_ours:
            continue
        racy = Variant(f"{column.variant.name}-racy", column.variant.cc, column.variant.cxx,
                       f"{column.variant.flags} -DBENCH_RACY".strip())
        workload.build(racy, where)
        report.unlink(missing_ok=True)
        subprocess.run([str(where.build / "bin" / "deadheat"), "run", "--quiet", "--json", str(report), "--",
                        *workload.command(racy, where)], env={**os.environ, "DEADHEAT_OPTIONS": column.options}, timeout=timeout,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        found[column.name] = places(report)
    watched = found.get("watch")
    return {name: len(races & watched) for name, races in found.items()} if watched else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slow-rounds", type=int, help="ThreadSanitizer, watch and full only in the last N rounds")
    parser.add_argument("--metric", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--best", action="store_true", help="the fastest round of each instead of the median")
    parser.add_argument("--no-races", action="store_true", help="leave the racy variants out")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--third-party", type=Path, default=None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--small", action="store_true", help="skip the Debian packages")
    parser.add_argument("--skip", default="", help="columns to leave out, separated by commas")
    parser.add_argument("--timeout", type=int, default=300)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    where = Where(build, build / "bench-run", (arguments.third_party or build / "third_party").resolve())
    table = [c for c in columns(build) if c.name not in arguments.skip.split(",")]
    workloads = [w for w in all_workloads() if not arguments.programs or w.name in arguments.programs]
    if arguments.small and not arguments.programs:
        workloads = [w for w in workloads if not w.real]

    rows, failed = [], []
    figures = {(w.name, c.name): [] for w in workloads for c in table}
    for workload in workloads:
        try:
            for column in table:
                workload.build(column.variant, where)
        except BenchError as error:
            failed.append((workload.name, str(error)))
    for number in range(arguments.rounds):
        for workload in workloads:
            for column in table:
                if any(name == workload.name for name, _ in failed):
                    break
                if column.name in SLOW and arguments.slow_rounds is not None and \
                        number < arguments.rounds - arguments.slow_rounds:
                    continue
                print(f"round {number + 1}: {workload.name} {column.name}", file=sys.stderr, flush=True) \
                    if sys.stderr.isatty() else None
                try:
                    result, _ = run_column(workload, column, where, arguments.timeout)
                except BenchError as error:
                    failed.append((workload.name, str(error)))
                    break
                figures[(workload.name, column.name)].append(result)
    pick = min if arguments.best else bench.median
    names = [c.name for c in table if c.name != "native"]
    print("| program | native | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 2) + "|")
    slowdowns = {name: [] for name in names}
    for workload in workloads:
        if any(name == workload.name for name, _ in failed):
            continue
        row = {"program": workload.name}
        for column in table:
            results = figures[(workload.name, column.name)]
            row[column.name] = {"time": pick(r[arguments.metric] for r in results),
                                "peak_kb": bench.median(r["peak_kb"] for r in results)}
        native = max(row["native"]["time"], 1e-3)
        for name in names:
            slowdowns[name].append(row[name]["time"] / native)
        print(f"| {workload.name} | {native:.2f} s | " + " | ".join(f"{row[n]['time'] / native:.2f}" for n in names) + " |",
              flush=True)
        rows.append(row)
    means = {name: bench.geometric_mean(values) for name, values in slowdowns.items()}
    print("| geometric mean | | " + " | ".join(f"**{means[n]:.2f}**" for n in names) + " |")
    print("\nPeak memory, MB:\n\n| program | " + " | ".join(c.name for c in table) + " |")
    print("|---" * (len(table) + 1) + "|")
    for row in rows:
        print(f"| {row['program']} | " + " | ".join(f"{row[c.name]['peak_kb'] / 1024:.1f}" for c in table) + " |")
    if not arguments.no_races:
        ours = [c.name for c in table if c.is_ours]
        print("\nRaces of the racy variants, one run each; of those that the watch lane finds:\n\n| program | " +
              " | ".join(ours) + " |\n" + "|---" * (len(ours) + 1) + "|")
        totals = dict.fromkeys(ours, 0)
        for workload in workloads:
            if workload.real:
                continue
            try:
                counted = count_races(workload, table, where, arguments.timeout)
            except (BenchError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                print(f"bench: {workload.name}: {error}", file=sys.stderr)
                continue
            if counted is None:
                continue
            for name in ours:
                totals[name] += counted[name]
            print(f"| {workload.name} | " + " | ".join(str(counted[n]) for n in ours) + " |", flush=True)
            next(row for row in rows if row["program"] == workload.name)["races"] = counted
        print("| all | " + " | ".join(f"**{totals[n]}**" for n in ours) + " |")
    print()
    for column in table:
        if column.goal:
            kept = means[column.name] <= column.goal
            print(f"{'kept' if kept else 'MISSED':<7} {column.name}: at most {column.goal}, is {means[column.name]:.3f}")
    for name, message in failed:
        print(f"bench: {name}: {message}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "means": means, "metric": arguments.metric}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
