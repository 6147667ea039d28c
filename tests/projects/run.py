#!/usr/bin/env python3
"""make test-projects: whole Debian packages through the wrappers.

Each package is fetched from Debian's sources, built by its own build system with nothing but CC and CXX changed
(pbzip2: Makefile; zstd: GNU make; xz: autotools; LevelDB: CMake), and put to work through `deadheat run`. What must
hold: it builds, it does its work correctly (what was compressed decompresses to the input), and the findings are
those that docs/field-notes.md explains, listed in known.txt beside this file; anything else fails.

    tests/projects/run.py [--build build] [PROJECT...]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from variants import BenchError, deadheat  # noqa: E402
from workloads import LevelDb, Pbzip2, Where, Xz, Zstd, text_input  # noqa: E402


def place(access):
    location = access.get("location", {})
    name = os.path.basename(location.get("file", "") or "?")
    return f"{name}:{location.get('line', 0)}"


def known_findings():
    """Lines `project  file:line  file:line`; `*` stands for any place. Comments start with #."""
    known = []
    for line in (HERE / "known.txt").read_text().splitlines():
        fields = line.split("#")[0].split()
        if len(fields) == 3:
            known.append(tuple(fields))
    return known


def is_known(known, project, places):
    for name, first, second in known:
        if name != project:
            continue
        for a, b in ((first, second), (second, first)):
            if a in ("*", places[0]) and b in ("*", places[1]):
                return True
    return False


class Project:
    def __init__(self, workload):
        self.workload = workload
        self.name = workload.name

    def build(self, variant, where):
        self.workload.build(variant, where)

    def tasks(self, variant, where):
        """(what, command, file for standard output, check) for each run."""
        raise NotImplementedError


class Compressor(Project):
    """Compress, decompress, compare, with the package's own program on both ways."""

    def __init__(self, workload, compress, decompress, megabytes=4):
        super().__init__(workload)
        self.flags = (compress, decompress)
        self.megabytes = megabytes

    def tasks(self, variant, where):
        program = self.workload.command(variant, where)[0]
        plain = text_input(where, self.megabytes)
        packed = where.work / f"{self.name}.packed"
        restored = where.work / f"{self.name}.restored"

        def same():
            if plain.read_bytes() != restored.read_bytes():
                raise BenchError(f"{self.name}: what was decompressed is not what was compressed")

        def smaller():
            if not 0 < packed.stat().st_size < plain.stat().st_size:
                raise BenchError(f"{self.name}: compressed {plain.stat().st_size} bytes to {packed.stat().st_size}")

        yield "compress", [program, *self.flags[0], str(plain)], packed, smaller
        yield "decompress", [program, *self.flags[1], str(packed)], restored, same


class Database(Project):
    def tasks(self, variant, where):
        program = self.workload.command(variant, where)[0]
        for number, benchmarks in enumerate(("fillrandom,readrandom", "fillseq,compact,readseq,readreverse",
                                             "overwrite,readwhilewriting")):
            folder = where.work / f"projects-db-{number}"
            shutil.rmtree(folder, ignore_errors=True)
            yield benchmarks, [program, "--threads=2", "--num=5000", f"--benchmarks={benchmarks}", f"--db={folder}"], \
                where.work / "leveldb.out", lambda: None


def projects():
    return [Compressor(Pbzip2("compress"), ["-p2", "-b2", "-q", "-c"], ["-p2", "-d", "-q", "-c"]),
            Compressor(Zstd(), ["-T2", "-5", "-q", "-c"], ["-d", "-q", "-c"]),
            Compressor(Xz(), ["-T2", "-1", "--block-size=512KiB", "-q", "-c"], ["-d", "-T2", "-q", "-c"]),
            Database(LevelDb())]


def watch(build, command, out, timeout):
    """One run through `deadheat run`: the report."""
    report = out.with_suffix(".json")
    report.unlink(missing_ok=True)
    with open(out, "wb") as stdout:
        process = subprocess.run([str(build / "bin" / "deadheat"), "run", "--json", str(report), "--quiet", "--", *command],
                                 stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, timeout=timeout, check=False)
    if process.returncode not in (0, 66) or not report.exists():
        raise BenchError(f"exit code {process.returncode}: {process.stderr.decode(errors='replace')[-800:]}")
    return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--timeout", type=int, default=600)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    where = Where(build, build / "bench-run", build / "third_party")
    variant = deadheat(build)
    known = known_findings()
    failures = 0
    for project in projects():
        if arguments.projects and project.name not in arguments.projects:
            continue
        try:
            project.build(variant, where)
            for what, command, out, check in project.tasks(variant, where):
                report = watch(build, command, out, arguments.timeout)
                check()
                explained, new = 0, []
                for finding in report["findings"]:
                    places = [place(a) for a in finding["accesses"]][:2]
                    if is_known(known, project.name, places):
                        explained += 1
                    else:
                        new.append(f"{finding['kind']} {' '.join(places)} ({finding['variable'].get('name') or finding['variable'].get('kind')})")
                print(f"{project.name} {what}: {explained} explained, {len(new)} unexplained findings", flush=True)
                for line in new:
                    print(f"  {line}")
                failures += len(new)
        except (BenchError, subprocess.TimeoutExpired) as error:
            print(f"{project.name}: {error}")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
