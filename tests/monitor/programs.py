#!/usr/bin/env python3
"""The labelled programs in the monitor lane: whatever it finds must be a finding of the watch lane.

    tests/monitor/programs.py [--build-dir build] [--runs 3] [--options cap=0,cap=10,...] [--table FILE] [NAME...]

Builds every program of tests/programs twice: as it is, where races are put in an order that monitors cannot see (they
are ordered by invisible code), and with -DORDER_BY_TIME, where threads sleep in between and so overlap. Judged is only
what is found: every finding must be one that the labels expect or allow. What is missed is counted, and with --table
written down as the table of docs/monitor.md.
"""

import argparse
import concurrent.futures
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "programs"))
import labels  # noqa: E402
import run as watch  # noqa: E402


class Monitor(watch.Deadheat):
    name = "monitor"

    def __init__(self, options, by_time):
        super().__init__(options)
        self.by_time = by_time
        self.name = "monitor-time" if by_time else "monitor"

    def compiler(self, program, switches):
        return super().compiler(program, switches) + ["--deadheat-mode=monitor"] + (
            ["-DORDER_BY_TIME"] if self.by_time else [])


def check(suite, tool, program, level, setting, runs):
    """Findings that nobody expects, and the expectations that some run met."""
    binary, problem = suite.build(tool, program, level, "")
    if problem:
        return [problem], set()
    bad, met = [], set()
    output = binary.with_name(binary.name + f".{os.getpid()}.{setting}")
    for _ in range(runs):
        findings, problems = tool.run(binary, program, output, suite.options.timeout)
        # A program whose order is only a matter of time may break itself on a busy machine; its findings are judged all
        # the same.
        if not tool.by_time:
            bad += problems
        for finding in findings or []:
            pairs = [p for p in program.expect + program.allow if program.pair_matches(p, finding)]
            if not pairs:
                bad.append("found " + " ".join(f"{operation}@line {line}" for operation, line in finding))
            met.update(p for p in pairs if p in program.expect)
    for suffix in (".json", ".supp"):
        output.with_suffix(suffix).unlink(missing_ok=True)
    return bad, met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--opt", default="-O2")
    parser.add_argument("--options", default="cap=0", help="settings of DEADHEAT_OPTIONS, separated by commas")
    parser.add_argument("--orders", default="seen,time")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=60)
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.filter = None
    programs = labels.load_all(ROOT / "tests" / "programs")
    if options.names:
        programs = [p for p in programs if any(name in p.name for name in options.names)]
    suite = watch.Suite(options)
    failed, met = 0, {}
    for setting in options.options.split(","):
        os.environ["DEADHEAT_OPTIONS"] = setting.replace("+", " ")
        for order in options.orders.split(","):
            tool = Monitor(options, order == "time")
            for level in options.opt.split(","):
                with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                    futures = {pool.submit(check, suite, tool, p, level, setting, options.runs): p for p in programs}
                    for future in concurrent.futures.as_completed(futures):
                        program = futures[future]
                        bad, found = future.result()
                        met.setdefault(program.name, set()).update(found)
                        for text in sorted(set(bad)):
                            failed += 1
                            print(f"FAIL {program.name} {level} {setting} {order}: {text}", flush=True)
                print(f"done: {setting} {order} {level}", flush=True)
    expected = {p.name: len(p.expect) for p in programs if p.expect}
    found = sum(1 for name in expected if met.get(name))
    if options.table:
        missed = sorted(name for name in expected if not met.get(name))
        options.table.write_text("\n".join(missed) + "\n")
    print(f"{len(programs)} programs, {failed} findings that are none; of {len(expected)} racy ones {found} found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
