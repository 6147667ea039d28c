#!/usr/bin/env python3
"""deadheat replay --look: goes to places of a long recording, forwards and back, and checks what is there.

    tests/replay/look.py [--build-dir build]

The program counts under a lock; so at any synchronisation the recording itself says what the counter must be. Work is
compared in regions replayed, not in time: going back must cost a fraction of a replay from the start.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

PROGRAM = r"""
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static void* count(void* argument) {
  for (int i = 0; i < 20000; ++i) {
    pthread_mutex_lock(&lock);
    ++counter;
    pthread_mutex_unlock(&lock);
  }
  return argument;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, count, 0);
  pthread_create(&b, 0, count, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return counter != 40000;
}
"""


def fail(what):
    print(f"FAIL: {what}")
    sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=Path, default=FOLDER.parent.parent / "build")
    tools = parser.parse_args().build_dir.resolve() / "bin"
    with tempfile.TemporaryDirectory(prefix="deadheat-look-") as folder:
        folder = Path(folder)
        (folder / "count.c").write_text(PROGRAM)
        subprocess.run([tools / "deadheat-cc", "--deadheat-mode=record", "-O1", "-g", "-pthread", "count.c", "-o", "count"],
                       cwd=folder, check=True)
        subprocess.run([tools / "deadheat", "run", "--quiet", "--mode", "record", "--out", "run.dh", "--", "./count"],
                       cwd=folder, check=True)
        printed = subprocess.run([tools / "deadheat", "replay", "--print", "syncs,accesses", "run.dh"], cwd=folder, check=True,
                                 capture_output=True, text=True).stdout
        # The counter after each synchronisation: a write is printed behind the one before it.
        value, values, address, last = 0, {}, None, 0
        for line in printed.splitlines():
            if match := re.match(r"#(\d+) ", line):
                values[last] = value
                last = int(match[1])
            elif match := re.match(r"thread \d+ writes 8 bytes at (0x\w+) <- (0x\w+) ", line):
                address, value = match[1], int(match[2], 16)
        values[last] = value
        if value != 40000 or last < 80000:
            fail(f"the recording has a counter of {value} and {last} synchronisations")
        chosen = random.Random(7).sample(sorted(values), 24)
        commands = ["end"]
        for number in chosen:
            commands += [f"until {number}", f"memory {address} 8"]
        commands += ["end", "until 0", "back 5", "threads", "quit"]
        start = time.monotonic()
        look = subprocess.run([tools / "deadheat", "replay", "--look", "run.dh"], cwd=folder, capture_output=True, text=True,
                              input="\n".join(commands) + "\n", timeout=300)
        took = time.monotonic() - start
        if look.returncode != 0 or look.stderr:
            fail(f"exit code {look.returncode}: {look.stderr}")
        lines = look.stdout.splitlines()
        first = re.fullmatch(r"at the end, after synchronisation (\d+) \((\d+) regions replayed\)", lines[0])
        if not first or int(first[1]) != last or int(first[2]) != last + 1:
            fail(f"the first line is {lines[0]}, the last synchronisation {last}")
        total, worst, backs, here = int(first[2]), 0, 0, last
        for i, number in enumerate(chosen):
            went = re.fullmatch(r"after synchronisation (\d+) \((\d+) regions replayed(?: from the checkpoint before "
                                r"synchronisation (\d+))?\)", lines[1 + 2 * i])
            if not went or int(went[1]) != number:
                fail(f"expected to be after {number}: {lines[1 + 2 * i]}")
            if (went[3] is not None) != (number < here):
                fail(f"from {here} to {number}: {lines[1 + 2 * i]}")
            if went[3] is not None:
                backs += 1
                worst = max(worst, int(went[2]))
                if int(went[3]) > number + 1:
                    fail(f"a checkpoint behind the place: {lines[1 + 2 * i]}")
            here = number
            shown = re.match(r"0x\w+((?: (?:\w\w|\?\?)){8}) ", lines[2 + 2 * i])
            if not shown or "?" in shown[1] or int.from_bytes(bytes.fromhex(shown[1]), "little") != values[number]:
                fail(f"after {number} the counter is {values[number]}: {lines[2 + 2 * i]}")
        if backs < 5:
            fail(f"only {backs} ways back")
        if worst > total // 6:
            fail(f"a way back took {worst} regions of {total}")
        if not lines[-5].startswith("after synchronisation 0 (1 regions") or not lines[-6].startswith("at the end"):
            fail("\n".join(lines[-6:]))
        if not re.match(r"thread 0: \d+ regions; next #1 ", lines[-3]) or "thread 1: not there yet" not in lines[-2]:
            fail("\n".join(lines[-6:]))
    print(f"{backs} ways back of {len(chosen)} places: at most {worst} of {total} regions replayed; {took:.1f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
