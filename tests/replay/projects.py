#!/usr/bin/env python3
"""make test-replay-projects: whole Debian packages recorded at work, every recording checked and replayed.

The packages, their builds and their tasks are those of tests/projects (pbzip2, zstd, xz, LevelDB) and x264, built for the
record lane. A recording counts as faithful when the program did its work (what was compressed decompresses to the input),
`deadheat recording check` finds nothing wrong, and `deadheat replay` has verified every region of every thread.

    tests/replay/projects.py [--build build] [--runs 20] [--megabytes 1] [PROJECT...]

The last line says `N of N recordings verified`; exit code 1 if not all.
"""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from record import recording_variant  # noqa: E402
from variants import BenchError  # noqa: E402
from workloads import Where  # noqa: E402


def projects():
    """Those of tests/projects/run.py (bench has a run.py too) that end by themselves."""
    spec = importlib.util.spec_from_file_location("test_projects", ROOT / "tests" / "projects" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [project for project in module.projects() if not isinstance(project, module.Service)]


def steps(tool, command, out, folder, check, timeout):
    """One recording and its replay; raises BenchError with what is wrong. Returns what replay said."""
    recording = folder / "recording"
    shutil.rmtree(recording, ignore_errors=True)
    with open(out, "wb") as stdout:
        done = subprocess.run([tool, "run", "--mode", "record", "--quiet", "--out", recording, "--", *command],
                              stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, timeout=timeout, check=False)
    if done.returncode != 0:
        raise BenchError(f"recording: exit code {done.returncode}: {done.stderr.decode(errors='replace').strip()[-400:]}")
    check()
    for step in (["recording", "check"], ["replay"]):
        done = subprocess.run([tool, *step, recording], capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise BenchError(f"{' '.join(step)}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout.splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=1, help="size of what is compressed")
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--keep", type=Path, help="leave a recording that failed here")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    where = Where(build, build / "bench-run", build / "third_party")
    tool = build / "bin" / "deadheat"
    variant = recording_variant(build)
    verified = total = 0
    for project in projects():
        if arguments.projects and project.name not in arguments.projects:
            continue
        project.megabytes = arguments.megabytes
        try:
            project.build(variant, where)
        except BenchError as error:
            print(f"{project.name}: cannot be built: {error}")
            total += arguments.runs
            continue
        tasks = len(list(project.tasks(variant, where)))
        for number in range(tasks):
            good, said = 0, ""
            for _ in range(arguments.runs):
                what, command, out, check = list(project.tasks(variant, where))[number]
                folder = Path(tempfile.mkdtemp(prefix="deadheat-projects-"))
                try:
                    said = steps(tool, command, out, folder, check, arguments.timeout)
                    good += 1
                except (BenchError, subprocess.TimeoutExpired) as error:
                    print(f"{project.name} {what}: {error}", flush=True)
                    if arguments.keep:
                        shutil.rmtree(arguments.keep, ignore_errors=True)
                        shutil.copytree(folder / "recording", arguments.keep)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
            print(f"{project.name} {what}: {good} of {arguments.runs} verified; last: {said}", flush=True)
            verified += good
            total += arguments.runs
    print(f"{verified} of {total} recordings verified")
    return 0 if verified == total else 1


if __name__ == "__main__":
    sys.exit(main())
