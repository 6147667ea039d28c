#!/usr/bin/env python3
"""Runs ThreadSanitizer's own single-file tests through Deadheat, and says where the two differ.

    tests/tsan/run.py [--build-dir build] [--table docs/tsan-tests.md] [NAME...]

The tests are fetched by fetch.sh into BUILD_DIR/third_party; nothing of them is in this repository. Their RUN lines are
followed as far as they compile, run and choose suppressions; from their CHECK lines only one thing is taken: does this
run report a data race or not. A difference needs a line in explained.txt, or this fails. The last line says
`N passed, N failed`.
"""

import argparse
import concurrent.futures
import json
import re
import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "programs"))
from run import run_process  # noqa: E402

OTHER_PLATFORMS = re.compile(r"REQUIRES:.*(darwin|disabled|sunrpc)|UNSUPPORTED:.*glibc-2.38")
RACE = re.compile(r"data race|heap-use-after-free|race on vptr")
# Checks of other kinds, which are not what Deadheat is for.
OTHER_REPORTS = re.compile(r"ThreadSanitizer: (lock-order|destroy of|double lock|mutex held|read lock|read unlock|"
                           r"signal|thread leak|unlock of|use of an invalid)|ERROR: ThreadSanitizer")
# Interfaces of ThreadSanitizer's runtime that are no annotations: Java, debuggers, its own interceptors and atomics.
OWN_INTERFACES = re.compile(r"undefined reference to `(__tsan_|__sanitizer_|__interceptor_|___interceptor)|"
                            r"sanitizer_common/\w+\.h' file not found")


class Skip(Exception):
    pass


class Test:
    def __init__(self, path, options):
        self.path = path
        self.name = str(path.relative_to(options.tests))
        self.options = options
        self.text = path.read_text(errors="replace")
        self.work = options.work / self.name.replace("/", "_")
        self.suppressions = None

    def run_lines(self):
        lines, pending = [], ""
        for match in re.finditer(r"RUN:(.*)", self.text):
            pending += " " + match.group(1).strip()
            if pending.endswith("\\"):
                pending = pending[:-1]
                continue
            lines.append(pending.strip())
            pending = ""
        return lines

    def expectation(self, prefixes, repeated):
        """Does the run whose output is checked with these prefixes report a race? `repeated` is said of tests that are
        run again until something is reported."""
        wants, forbids = [], []
        for prefix in prefixes:
            wants += re.findall(rf"(?:^|\W){prefix}(?:-NEXT|-DAG|-SAME|-COUNT-\d+)?:(.*)", self.text)
            forbids += re.findall(rf"(?:^|\W){prefix}-NOT:(.*)", self.text)
        if any(RACE.search(want) and "SUMMARY" not in want for want in wants):
            return "race"
        if any(OTHER_REPORTS.search(want) for want in wants):
            raise Skip("checks another kind of report")
        if any("ThreadSanitizer" in want for want in wants) and not any("ThreadSanitizer" in f for f in forbids):
            if any(re.search(r"WARNING: ThreadSanitizer|SUMMARY: ThreadSanitizer", want) for want in wants):
                return "race"
        return "race" if repeated else "no race"

    def substitute(self, command):
        bins, support = self.options.build_dir / "bin", self.options.support
        flags = f"-g -Wno-everything -I{FOLDER / 'support'} -I{self.options.tests}"
        linking = "" if re.search(r" -c( |$)| -shared", command) else f" {support} -ldl -lm"
        command = command.replace("%clangxx_tsan", f"{bins}/deadheat-c++ {flags}")
        command = command.replace("%clang_tsan", f"{bins}/deadheat-cc {flags}")
        if "deadheat-c" in command:
            if re.search(r"-fsanitize=|-mllvm|-fno-sanitize|-fsanitize-|-nostd|-target ", command):
                raise Skip("needs an option of ThreadSanitizer's own pass")
            command += linking + " -pthread"
        for name, value in (("%link_libcxx_tsan", ""), ("%darwin_min_target_with_tls_support", ""),
                            ("%deflake", ""), ("%os", "linux"), ("%t", str(self.work / "t")), ("%s", str(self.path)),
                            ("%S", str(self.path.parent)), ("%p", str(self.path.parent))):
            command = command.replace(name, value)
        return command

    def results(self):
        """Yields (expected, got, detail) for every run."""
        if OTHER_PLATFORMS.search(self.text):
            raise Skip("for another platform")
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        runs = []
        for line in self.run_lines():
            for part in line.split("&&"):
                part = part.strip()
                if "%run" in part:
                    runs.append(self.one_run(part))
                    continue
                if "%" in part.replace("%%", "") or not part.startswith("FileCheck"):
                    if "FileCheck" in part or "%{" in part:
                        raise Skip("checks the compiler's output")
                    code, out, err = run_process(["sh", "-c", self.substitute(part)], 300)
                    if code != 0 and OWN_INTERFACES.search(err or ""):
                        raise Skip("uses an interface of ThreadSanitizer beyond its annotations")
                    if code != 0:
                        runs.append(("builds", "does not build", ((err or "") + (out or ""))[-600:]))
                        return runs
        if not runs:
            raise Skip("runs nothing")
        return runs

    def one_run(self, part):
        command, *rest = part.split("|")
        checks = " ".join(rest)
        prefixes = [p for group in re.findall(r"-?-check-prefix(?:es)?[= ](\S+)", checks) for p in group.split(",")]
        expected = self.expectation([self.substitute(p) for p in prefixes] or ["CHECK"], "%deflake" in part)
        report = self.work / "report.json"
        report.unlink(missing_ok=True)
        deadheat = f"{self.options.build_dir}/bin/deadheat run --quiet --json {report}"
        options = re.search(r"%env_tsan_opts=(\S+)", command)
        environment = ""
        if options:
            suppressions = re.search(r"suppressions='([^']*)'", options.group(1))
            if suppressions:
                deadheat += f" --suppressions {self.substitute(suppressions.group(1))}"
            command = command.replace(options.group(0), "")
        command = re.sub(r"2>&1|>\s*\S+", "", command).replace("not ", "")
        environment = re.search(r"env (\S+=\S+)", command)
        if environment:
            command = command.replace(environment.group(0), "")
        command = self.substitute(command.replace("%run", f"{deadheat} --"))
        if environment:
            command = f"env {self.substitute(environment.group(1))} {command}"
        code, out, err = run_process(["sh", "-c", command], self.options.timeout)
        if code is None:
            return expected, "does not end", ""
        try:
            findings = json.loads(report.read_text())["findings"]
        except (OSError, ValueError, KeyError):
            return expected, f"exit code {code}, no report", (err or "")[-400:]
        if findings:
            return expected, "race", "; ".join(
                " / ".join(f"{a['operation']} {Path(a['location'].get('file', '?')).name}:{a['location'].get('line', 0)}"
                           for a in finding["accesses"]) for finding in findings)
        return expected, "no race" if code < 128 else f"dies of signal {code - 128}", (err or "")[-300:]


def read_explained():
    explained = {}
    for line in (FOLDER / "explained.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            explained[name] = reason
    return explained


def write_table(path, agreed, skipped, differences, explained):
    lines = ["<!-- Written by tests/tsan/run.py --table; do not edit. Reasons: tests/tsan/explained.txt -->", "",
             "# ThreadSanitizer's own tests", "",
             "`make test-tsan` fetches the folder `compiler-rt/test/tsan` of Debian's source package "
             "`llvm-toolchain-19` and runs its single-file tests through Deadheat. Nothing of them is copied into this "
             "repository. Of each test one thing is compared: does a run report a data race or not.", "",
             f"{agreed} tests agree, {len(differences)} differ, {sum(len(v) for v in skipped.values())} are about "
             "something else.", "",
             "## Differences", "", "| test | ThreadSanitizer expects | Deadheat | why |", "|---|---|---|---|"]
    for name, (expected, got) in sorted(differences.items()):
        lines.append(f"| `{name}` | {expected} | {got} | {explained.get(name, 'not explained yet')} |")
    lines += ["", "## Not compared", ""]
    for reason, names in sorted(skipped.items()):
        lines.append(f"- {reason}: " + ", ".join(f"`{name}`" for name in sorted(names)))
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--verbose", "-v", action="store_true")
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    code, out, err = run_process([str(FOLDER / "fetch.sh"), str(options.build_dir / "third_party")], 3600)
    if code != 0:
        print(f"run.py: the tests could not be fetched: {(err or '').strip()[-300:]}", file=sys.stderr)
        return 2
    options.tests = Path(out.strip().splitlines()[-1])
    options.work = options.build_dir / "test-tsan"
    options.work.mkdir(parents=True, exist_ok=True)
    options.support = options.work / "invisible.o"
    code, _, err = run_process(["clang-19", "-O1", "-fPIC", "-c", str(FOLDER / "support" / "invisible.c"), "-o",
                                str(options.support)], 60)
    if code != 0:
        print(f"run.py: {err}", file=sys.stderr)
        return 2
    paths = sorted(p for pattern in ("*.c", "*.cpp", "Linux/*.c", "Linux/*.cpp") for p in options.tests.glob(pattern))
    tests = [Test(path, options) for path in paths if "RUN:" in path.read_text(errors="replace")]
    if options.names:
        tests = [t for t in tests if any(name in t.name for name in options.names)]

    def attempt(test):
        try:
            return test, test.results(), None
        except Skip as skip:
            return test, None, str(skip)

    explained = read_explained()
    agreed, failed, skipped, differences = 0, 0, {}, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for test, runs, reason in pool.map(attempt, tests):
            if reason:
                skipped.setdefault(reason, []).append(test.name)
                continue
            different = [(e, g, d) for e, g, d in runs if e != g]
            if not different:
                agreed += 1
                continue
            expected, got, detail = different[0]
            differences[test.name] = (expected, got)
            if test.name not in explained:
                failed += 1
            if test.name not in explained or options.verbose:
                print(f"{'FAIL' if test.name not in explained else 'differs'} {test.name}: expected {expected}, "
                      f"got {got} {detail}".strip(), flush=True)
    if options.table:
        write_table(options.table, agreed, skipped, differences, explained)
    print(f"{agreed} agree, {len(differences)} differ, {sum(len(v) for v in skipped.values())} are not compared")
    print(f"{agreed + len(differences) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
