"""The compilers that are compared: one Variant each, and how a source is built with it."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


class BenchError(Exception):
    """Something the user has to see in one line."""


@dataclass(frozen=True)
class Variant:
    name: str
    cc: str
    cxx: str
    flags: str = ""
    environment: dict = field(default_factory=dict)

    @property
    def cflags(self):
        return f"-O2 -g {self.flags}".strip()

    def build_environment(self):
        """For build systems that take their compilers from the environment."""
        return dict(os.environ, CC=self.cc, CXX=self.cxx, CFLAGS=self.cflags, CXXFLAGS=self.cflags, LDFLAGS=self.flags)


NATIVE = Variant("native", "clang-19", "clang++-19")
# Detection only, as Deadheat does it: deadlock detection is off (it can cost hours on programs with many locks), and
# nothing is symbolised.
TSAN = Variant("tsan", "clang-19", "clang++-19", "-fsanitize=thread",
               {"TSAN_OPTIONS": "detect_deadlocks=0:report_bugs=0:exitcode=0"})


def deadheat(build):
    return Variant("deadheat", str(build / "bin" / "deadheat-cc"), str(build / "bin" / "deadheat-c++"))


def run(command, log, cwd=None, env=None):
    """Runs one step of a build, quietly; on failure the end of its output is the message."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as out:
        out.write((" ".join(map(str, command)) + "\n").encode())
        out.flush()
        try:
            code = subprocess.call([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, cwd=cwd, env=env,
                                   stdin=subprocess.DEVNULL)
        except OSError as error:
            raise BenchError(f"cannot run {command[0]}: {error.strerror}") from error
    if code != 0:
        tail = log.read_text(errors="replace").splitlines()[-15:]
        raise BenchError(f"building failed (exit code {code}), the end of {log}:\n  " + "\n  ".join(tail))


def newest(paths):
    times = [p.stat().st_mtime for p in paths if p.exists()]
    return max(times) if times else 0.0


def fresh_copy(source, target):
    """A copy of a source tree for one variant to build in."""
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, symlinks=True)


def compiler_stamp(variant, build):
    """When the tools behind a variant last changed: older results are built again."""
    if variant in (NATIVE, TSAN):
        return 0.0
    library = build / "lib" / "deadheat"
    return newest([Path(variant.cc), *(p for p in library.rglob("*") if p.is_file())])
