#!/usr/bin/env python3
"""Both orders of two accesses: records each program of tests/replay/live and checks what becomes of it.

    tests/replay/live_worlds.py [--build-dir build] [--opt -O0,-O2] [--keep] [NAME...]

A program marks its two accesses by <A> and <B> in comments on their lines (<A:write>: only a write there; <A@2>: of thread
2); A's thread is the lowest that accesses that line, B's the lowest other one. Its first lines say what to expect:

    // A-B: REGEX            what the tool says of the order A, B behind "thread ... first, then thread ...: "
    // A-B output: REGEX     the output, lines joined by " / "
    // B-A: ...
    // says: REGEX           in all that is printed (as often as needed)
    // options: --steps 1000
    // levels: -O2           only these
    // also: also_table.c    compiled and linked with it

Also checked, for every program: the tool's own standard output holds nothing of the program's beyond what it shows, and the
folder the program runs in stays as it is (a live world touches nothing).
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def run(command, folder, timeout=120):
    result = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                            timeout=timeout)
    return result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def expectations(text):
    wanted, says, options = {}, [], []
    for line in text.splitlines():
        if match := re.match(r"// ([AB]-[AB])( output)?: (.*)$", line):
            wanted[match[1] + (match[2] or "")] = match[3]
        elif match := re.match(r"// says: (.*)$", line):
            says.append(match[1])
        elif match := re.match(r"// options: (.*)$", line):
            options = match[1].split()
    return wanted, says, options


def marked(text, name):
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.search(rf"<{name}(:\w+)?(@\d+)?>", line):
            return number, (match[1] or ":")[1:], int(match[2][1:]) if match[2] else None
    raise ValueError(f"no <{name}> in the program")


def find_stop(printed, source, line, kind, thread, not_thread):
    """The first access of a thread at a line: (thread, number)."""
    found = {}
    pattern = re.compile(rf"thread (\d+) (?:atomically )?(reads|writes) .*\(access (\d+)\)  .*{re.escape(source)}:{line}:")
    for entry in printed.splitlines():
        if not (match := pattern.match(entry)):
            continue
        if kind and not match[2].startswith(kind):
            continue
        who = int(match[1])
        if who != not_thread and (thread is None or who == thread) and who not in found:
            found[who] = int(match[3])
    if not found:
        raise ValueError(f"nobody accesses line {line}")
    who = min(found)
    return who, found[who]


def check(source, level, tool, wrappers, keep):
    text = source.read_text()
    wanted, says, options = expectations(text)
    folder = Path(tempfile.mkdtemp(prefix="deadheat-live-"))
    try:
        here = folder / "here"
        here.mkdir()
        binary, recording = folder / "program", folder / "recording"
        others = [FOLDER / "live" / name for name in re.findall(r"^// also: (.*)$", text, re.M)]
        code, _, err = run([wrappers[source.suffix == ".cc"], "--deadheat-mode=record", level, "-g", "-pthread", source,
                            *others, "-o", binary], folder)
        if code != 0:
            return f"cannot be built: {err.strip()[:400]}"
        run([tool, "run", "--mode", "record", "--quiet", "--out", recording, "--", binary], here)
        shutil.rmtree(here)
        here.mkdir()
        code, printed, err = run([tool, "replay", "--print", "accesses", recording], folder)
        if code != 0:
            return f"replay: {err.strip()[:400]}"
        a = find_stop(printed, source.name, *marked(text, "A"), None)
        b = find_stop(printed, source.name, *marked(text, "B"), a[0])
        stops = f"{a[0]}:{a[1]},{b[0]}:{b[1]}"
        code, out, err = run([tool, "replay", "--both-orders", stops, *options, recording], here)
        shown = f"--both-orders {stops}\n{out}{err}"
        if code != 0:
            return shown
        if list(here.iterdir()):
            return f"the folder holds {list(here.iterdir())}\n{shown}"
        for order, (first, second) in {"A-B": (a[0], b[0]), "B-A": (b[0], a[0])}.items():
            told = re.search(rf"^thread {first} first, then thread {second}: (.*)\n((?:  .*\n)*)", out, re.M)
            if not told:
                return f"{order} is not told\n{shown}"
            lines = re.findall(r"^    (.*)$", told[2], re.M)
            for key, found in ((order, told[1]), (order + " output", " / ".join(lines))):
                if key in wanted and not re.fullmatch(wanted[key], found):
                    return f"{key}: expected {wanted[key]}, found {found}\n{shown}"
        for pattern in says:
            if not re.search(pattern, out, re.M):
                return f"expected somewhere: {pattern}\n{shown}"
        return None
    except (ValueError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    finally:
        if keep:
            print("kept", folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, default=FOLDER.parent.parent / "build")
    parser.add_argument("--opt", default="-O0,-O2")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    build = options.build_dir.resolve()
    wrappers = (build / "bin" / "deadheat-cc", build / "bin" / "deadheat-c++")
    sources = sorted(path for path in (FOLDER / "live").iterdir() if path.suffix in (".c", ".cc")
                     and not path.name.startswith("also_"))
    if options.names:
        sources = [path for path in sources if path.stem in options.names]
    failed = 0
    total = 0
    for source in sources:
        levels = re.search(r"^// levels: (.*)$", source.read_text(), re.M)
        for level in options.opt.split(","):
            if levels and level not in levels[1].split():
                continue
            total += 1
            problem = check(source, level, build / "bin" / "deadheat", wrappers, options.keep)
            if problem:
                failed += 1
                print(f"{source.name} {level}: {problem}")
    print(f"{total - failed} of {total} as expected")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
