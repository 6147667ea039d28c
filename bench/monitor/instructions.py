#!/usr/bin/env python3
"""make bench-monitor-instructions: what the closed gate costs, and what windows add to it, in instructions.

    bench/monitor/instructions.py [--build build] [--json FILE] [PROGRAM...]

Times of a busy machine say little about a few percent, and those of contended programs nothing on an idle one; counts of
instructions are almost the same every time. valgrind's callgrind counts those of user code in all threads, the runtime's own
included: natively, with the gate closed for good (the first window would open after half a minute of a period of a minute),
with a budget of 5 %, and with the gate open all the time but one monitor per place and tick. The last is a bound from above for
what the inlined code of windows costs: a tick is 2 ms, in which a program under valgrind does far less than it would, so
slow paths count for many times as much. A budget is about shares of time, of which slow paths take what they take: there
windows have the same share of what is counted as they have of the time. One thread runs at a time there, so programs that
wait by spinning may wait for other numbers of rounds than they would.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from run import geometric_mean  # noqa: E402
from variants import NATIVE, BenchError, Variant, deadheat  # noqa: E402
from workloads import ROOT, Where, all_workloads  # noqa: E402

SETTINGS = {"closed": "sample=0.01% period=60000", "budget 5 %": "budget=5%", "open": "cap=1"}


def instructions(program, folder, options):
    """Counted in a copy without debug information, which valgrind cannot read in full."""
    bare = folder / "counted"
    subprocess.run(["strip", "-g", "-o", bare, program], check=True)
    try:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind.out'}", bare],
                              env={**os.environ, "DEADHEAT_OPTIONS": f"log={folder / 'raw'} {options}"}, capture_output=True,
                              text=True, timeout=900, check=False)
    except FileNotFoundError:
        raise BenchError("valgrind is not installed") from None
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise BenchError(f"{program}: exit code {done.returncode}: {done.stderr[-300:]}")
    return int(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    build = options.build.resolve()
    where = Where(build, build / "bench-run", build / "third_party")
    ours = deadheat(build)
    monitor = Variant("monitor", ours.cc, ours.cxx, "--deadheat-mode=monitor")
    folder = where.work / "instructions"
    folder.mkdir(parents=True, exist_ok=True)
    rows = {}
    print("| program | native | " + " | ".join(SETTINGS) + " |\n" + "|---" * (2 + len(SETTINGS)) + "|", flush=True)
    for workload in all_workloads():
        if workload.real or (options.programs and workload.name not in options.programs):
            continue
        for variant in (NATIVE, monitor):
            workload.build(variant, where)
        native = instructions(workload.command(NATIVE, where)[0], folder, "")
        row = {name: instructions(workload.command(monitor, where)[0], folder, setting) / native
               for name, setting in SETTINGS.items()}
        rows[workload.name] = {"native": native, **row}
        print(f"| {workload.name} | {native / 1e6:,.0f} M | " + " | ".join(f"{ratio:.3f}" for ratio in row.values()) + " |", flush=True)
    means = {name: geometric_mean([row[name] for row in rows.values()]) for name in SETTINGS}
    print("| geometric mean | | " + " | ".join(f"**{mean:.3f}**" for mean in means.values()) + " |")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "means": means}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
