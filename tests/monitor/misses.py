#!/usr/bin/env python3
"""Which labelled racy programs the monitor lane misses, and why, one reason each: docs/monitor-misses.md.

    tests/monitor/misses.py [--build-dir build] [--runs 3] [--table docs/monitor-misses.md] [NAME...]

Every program with an expected race is built with -DORDER_BY_TIME (threads sleep between their accesses, instead of being
ordered by code that nobody sees) at -O2 and run with cap=0, RUNS times. Those that are not found are run once more with
trace=1, where every start and stop of a monitor is written down, and the trace is asked how near the race was:

    an atomic side               atomic operations are not monitored
    no monitor could start       the compiler put none for that line: the access is not certain where one could stand
    the gate was closed          there is one, but it was passed while one thread ran alone, or in a loop entered so
    the region was over          the first side's monitor ended, by what, before the other side began
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "programs"))
import labels  # noqa: E402
import programs as lane  # noqa: E402
import run as watch  # noqa: E402


HELPERS = {p.name for p in (ROOT / "tests" / "programs").rglob("*.h")}
RUNTIME = {p.name for p in (ROOT / "src" / "runtime").rglob("*") if p.suffix in (".cc", ".h")}
# Functions of the runtime that several interposed calls share, in the words of somebody who never saw it.
SHARED = {
    "let_go": "the end of a `catch`, or of a `std::exception_ptr`: the exception has one owner less",
    "before_sending": "a call that writes to a descriptor (`write`, `send`, ...)",
    "after_receiving": "a call that reads from a descriptor (`read`, `recv`, ...)",
    "changing_semaphores": "`semop`",
    "launch": "the creation of a thread",
    "thread_creating": "the creation of a thread",
    "freeing_of": "`free`",
    "munmap": "`munmap`",
    "ending": "`free`",
}
# Those without words yet.
UNKNOWN = set()
# What interposed calls are made of.
PARTS = {"releasing", "release", "lock_releasing", "unlocking", "mutex_unlocking", "release_store", "barrier_arrive", "unmapping",
         "acquire"}


def symbolize(binary, offsets):
    """{offset: [(function, file, line), innermost first]} of the executable's own code."""
    if not offsets:
        return {}
    done = subprocess.run(["llvm-symbolizer-19", "--output-style=JSON", f"--obj={binary}", *map(hex, offsets)],
                          capture_output=True, text=True, check=True)
    found = {}
    for entry in json.loads(done.stdout):
        found[int(entry["Address"], 16)] = [(f["FunctionName"], Path(f["FileName"]).name, f["Line"])
                                            for f in entry.get("Symbol", [])]
    return found


class Trace:
    """What one run did: its monitors in order, with the lines they stand for."""

    def __init__(self, binary, program, timeout):
        with tempfile.TemporaryDirectory() as folder:
            options = f"log={folder}/raw cap=0 trace=1 exitcode=0"
            subprocess.run([str(binary), *program.args], env={**os.environ, "DEADHEAT_OPTIONS": options}, timeout=timeout,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            records = []
            for path in sorted(Path(folder).glob("raw.*")):
                for line in path.read_text(errors="replace").splitlines():
                    try:
                        records.append(json.loads(line))
                    except ValueError:
                        pass
        own = next((r for r in records if r["t"] == "module" and Path(r["path"]).name == binary.name), None)
        base, begin, end = (int(own[k], 16) for k in ("base", "begin", "end")) if own else (0, 0, 0)
        libraries = [(int(r["begin"], 16), int(r["end"], 16), Path(r["path"]).name) for r in records if r["t"] == "module"]
        self.events = [r for r in records if r["t"] == "monitor"]
        wanted = set()
        for event in self.events:
            for key in ("pc", "by"):
                value = int(event[key], 16)
                if begin <= value < end:
                    wanted.add(value - 1 - base)
        names = symbolize(binary, sorted(wanted))

        def frames(value):
            if begin <= value < end:
                return names.get(value - 1 - base, [])
            return [(name, name, 0) for low, high, name in libraries if low <= value < high]

        for event in self.events:
            event["lines"] = {line for _, file, line in frames(int(event["pc"], 16)) if file == program.path.name}
            event["ended_by"] = lambda event=event: self.reason(frames(int(event["by"], 16)), program)

    @staticmethod
    def reason(frames, program):
        for function, file, line in frames:
            if file == program.path.name:
                return f"what line {line} releases"
            if file in HELPERS:
                return f"`{function.split('(')[0]}` of the test's header, which has assembly that touches memory"
            name = re.sub(r"^interposed_|^deadheat_open_", "", function)
            if name in ("thread_left", "run_pthread", "thread_entered") or "finish" in name or "__nptl" in name:
                return "the end of its thread"
            if name.startswith("libc.so"):  # which calls the destructors of a thread that ends
                return "the end of its thread"
            if name == function and file in RUNTIME:
                plain = re.sub(r"[<(].*", "", name.replace("(anonymous namespace)::", "")).split("::")[-1]
                if plain in PARTS:
                    continue
                if plain in SHARED:
                    return SHARED[plain]
                if not function.startswith(("pthread_", "sem_", "mtx_", "__deadheat_", "__kmpc_")):
                    UNKNOWN.add(f"{function} of {file}")
            if name.startswith("std::") or name.startswith("__gnu_cxx::"):
                return f"`{Trace.short(name)}` of the C++ library's headers"
            return f"`{name}`" if file else "a release"
        return "the end of its thread"

    @staticmethod
    def short(name):
        """std::vector<int, ...>::push_back(int const&) without its arguments, and with its templates' arguments left out."""
        out, depth = "", 0
        for character in re.sub(r"operator(<=>|<<|>>|<=|>=|<|>|->)", lambda m: "operator" + m[1].translate({60: 1, 62: 2}), name):
            if character in "<(":
                depth += 1
            if depth == 0:
                out += character
            if character in ">)":
                depth -= 1
        return out.translate({1: 60, 2: 62}).replace("__cxx11::", "").strip()


def monitored_lines(tool, program, level, folder):
    """The lines for which the compiler put a start of a monitor somewhere."""
    text = folder / "program.ll"
    command = tool.compiler(program, "") + [level, "-g", *program.flags, "-S", "-emit-llvm", str(program.path), "-o", str(text)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        return None
    ir = text.read_text()
    places = {m[1]: (int(m[2]), m[3]) for m in re.finditer(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+).*?(?:inlinedAt: !(\d+))?\)$", ir, re.M)}
    lines = set()
    for match in re.finditer(r"@__dh_monitor_(?:start|keep)\w*\(.*!dbg !(\d+)", ir):
        at = match[1]
        while at in places:
            lines.add(places[at][0])
            at = places[at][1]
    return lines


class Side:
    def __init__(self, program, side):
        self.operation, self.mark = side
        self.lines = program.marks[self.mark]

    def __str__(self):
        return "line " + "/".join(map(str, sorted(self.lines)))

    def is_event(self, event):
        return bool(self.lines & event["lines"]) and self.operation in ("any", event["op"])


def why(program, pair, trace, compiled):
    """(how near it came, the reason)."""
    sides = [Side(program, side) for side in pair.sides]
    for side in sides:
        if side.operation.startswith("atomic"):
            return 0, ("an atomic side", f"{side} is an atomic operation")
    starts = [[(i, e) for i, e in enumerate(trace.events) if e["what"] == "start" and side.is_event(e)] for side in sides]
    for side, own in zip(sides, starts):
        if side.operation == "free" or own:
            continue
        if compiled is not None and not side.lines & compiled:
            return 1, ("no monitor could start", f"{side}: no monitor, the access is not certain where one could start")
        return 2, ("the gate was closed", f"{side} is passed while one thread runs alone, or in a loop or function entered so")
    frees = [side for side in sides if side.operation == "free"]
    if frees:
        other = next(s for s in sides if s is not frees[0]) if len(frees) == 1 else None
        if other is None:
            return 3, ("both sides end the block", "two frees of one block: neither is monitored")
    # The first of the two, and what ended it.
    first = min((own[0][0], n) for n, own in enumerate(starts) if own)[1]
    side, index = sides[first], starts[first][0][0]
    started = trace.events[index]
    for event in trace.events[index:]:
        if event["what"] == "stop" and event["thread"] == started["thread"] and event["addr"] == started["addr"]:
            return 4, ("the region was over", f"the region of {side} ended with {event['ended_by']()}")
    return 5, ("the region was over", f"the region of {side} was over, or had not begun, whenever the other side came")


def examine(suite, tool, program, options):
    binary, problem = suite.build(tool, program, options.opt, "")
    if problem:
        return program, None, problem.splitlines()[0][:100]
    output = binary.with_name(binary.name + f".{os.getpid()}.misses")
    for _ in range(options.runs):
        findings, _ = tool.run(binary, program, output, options.timeout)
        if any(program.pair_matches(p, f) for f in findings or [] for p in program.expect):
            output.with_suffix(".json").unlink(missing_ok=True)
            return program, True, ("", "")
    output.with_suffix(".json").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        compiled = monitored_lines(tool, program, options.opt, Path(folder))
    try:
        trace = Trace(binary, program, options.timeout)
    except subprocess.TimeoutExpired:
        return program, False, ("the region was over", "does not end in this order")
    return program, False, max((why(program, pair, trace, compiled) for pair in program.expect), key=lambda r: r[0])[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--opt", default="-O2")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=60)
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.filter = None
    os.environ["DEADHEAT_OPTIONS"] = "cap=0"
    chosen = [p for p in labels.load_all(ROOT / "tests" / "programs")
              if p.expect and (not options.names or any(name in p.name for name in options.names))]
    tool = lane.Monitor(options, by_time=True)
    suite = watch.Suite(options)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda p: examine(suite, tool, p, options), chosen))
    found = [p.name for p, hit, _ in results if hit]
    missed = [(p.name, reason) for p, hit, reason in results if hit is False]
    unbuilt = [(p.name, reason) for p, hit, reason in results if hit is None]
    kinds = collections.Counter(reason[0] for _, reason in missed)
    out = ["# What the monitor lane misses", "",
           "Made by `tests/monitor/misses.py --table docs/monitor-misses.md`; how, is said at its top. "
           "[monitor.md](monitor.md) says what the reasons mean.", "",
           f"Of {len(found) + len(missed)} labelled racy programs, {len(found)} are found (`cap=0`, `{options.opt}`, threads that "
           f"sleep between their accesses, {options.runs} runs), {len(missed)} are not.", "",
           "| reason | programs |", "|---|---|"]
    out += [f"| {kind} | {count} |" for kind, count in kinds.most_common()]
    out += ["", "| program | why it is missed |", "|---|---|"]
    out += [f"| {name} | {reason[1]} |" for name, reason in missed]
    if unbuilt:
        out += ["", "Not built in this order:", ""] + [f"- {name}: {reason}" for name, reason in unbuilt]
    text = "\n".join(out) + "\n"
    if options.table:
        options.table.write_text(text)
        print(f"{len(found)} found, {len(missed)} missed: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    else:
        print(text)
    for name in sorted(UNKNOWN):
        print(f"misses: {name}: a name of the runtime's own, which needs words in SHARED", file=sys.stderr)
    return 1 if UNKNOWN else 0


if __name__ == "__main__":
    sys.exit(main())
