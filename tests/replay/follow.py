#!/usr/bin/env python3
"""Data-flow labels on whole programs: what depends on one read (deadheat replay --follow).

    tests/replay/follow.py [--build-dir build] [--opt -O0,-O2] [NAME...]

Records each program of tests/replay/follow, follows the read that <F> marks in a comment on its line, and compares what is
printed with the comments of the program's first lines:

    // says: REGEX     a line of what is printed
    // never: REGEX    no line

Also checked: a write, an access that never was and nonsense are refused with one line and exit code 2.
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from live_worlds import find_stop, marked, run  # noqa: E402


def refusals(tool, recording, stop, folder):
    for asked, why in (("x", "expected THREAD:ACCESS"), ("99:1", "has no thread 99"), (f"{stop}99999", "has no access")):
        code, out, err = run([tool, "replay", "--follow", asked, recording], folder)
        if code != 2 or why not in err or out or err.count("\n") != 1:
            return f"--follow {asked}: expected exit code 2 and {why!r}, found {code}: {out}{err}"
    return None


def check(source, level, build):
    text = source.read_text()
    folder = Path(tempfile.mkdtemp(prefix="deadheat-follow-"))
    tool, recording, binary = build / "bin" / "deadheat", folder / "recording", folder / "program"
    try:
        wrapper = build / "bin" / ("deadheat-c++" if source.suffix == ".cc" else "deadheat-cc")
        code, _, err = run([wrapper, "--deadheat-mode=record", level, "-g", "-pthread", source, "-o", binary], folder)
        if code != 0:
            return f"cannot be built: {err.strip()[:400]}"
        run([tool, "run", "--mode", "record", "--quiet", "--out", recording, "--", binary], folder)
        code, printed, err = run([tool, "replay", "--print", "accesses", recording], folder)
        if code != 0:
            return f"replay: {err.strip()[:400]}"
        thread, access = find_stop(printed, source.name, *marked(text, "F"), None)
        code, out, err = run([tool, "replay", "--follow", f"{thread}:{access}", recording], folder)
        shown = f"--follow {thread}:{access}\n{out}{err}"
        if code != 0:
            return shown
        for pattern in re.findall(r"^// says: (.*)$", text, re.M):
            if not re.search(pattern, out):
                return f"expected a line: {pattern}\n{shown}"
        for pattern in re.findall(r"^// never: (.*)$", text, re.M):
            if re.search(pattern, out):
                return f"expected no line: {pattern}\n{shown}"
        return refusals(tool, recording, f"{thread}:{access}", folder)
    except ValueError as problem:
        return str(problem)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, default=FOLDER.parent.parent / "build")
    parser.add_argument("--opt", default="-O0,-O2")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    sources = sorted(path for path in (FOLDER / "follow").iterdir() if path.suffix in (".c", ".cc"))
    if options.names:
        sources = [path for path in sources if path.stem in options.names]
    levels = options.opt.split(",")
    problems = [f"{source.name} {level}: {problem}" for source in sources for level in levels
                if (problem := check(source, level, options.build_dir.resolve()))]
    for problem in problems:
        print(problem)
    total = len(sources) * len(levels)
    print(f"{total - len(problems)} of {total} as expected")
    return 1 if problems or not total else 0


if __name__ == "__main__":
    sys.exit(main())
