#!/usr/bin/env python3
"""make test-build-systems: one small project, built by every build system with nothing but CC and CXX changed.

    tests/build_systems/run.py [--build-dir build] [--install] [SYSTEM...]

CMake (Ninja and Make), Make, autotools, Meson, and CMake through ccache, twice, the second time from its cache. What must hold:
it configures, it builds, and `deadheat run` finds the one race, with both lines. A system that is not installed is skipped and
named, or installed from Debian with --install. The last line says `N passed, N failed, N skipped`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = {"meson": ["meson"], "autoreconf": ["autoconf", "automake"], "ccache": ["ccache"], "ninja": ["ninja-build"]}


class Failed(Exception):
    pass


def run(command, folder, environment):
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if process.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit code {process.returncode}: {(process.stdout + process.stderr)[-1500:]}")
    return process.stdout


def cmake(folder, environment, *flags):
    run(["cmake", "-S", ".", "-B", "out", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *flags], folder, environment)
    run(["cmake", "--build", "out"], folder, environment)
    return folder / "out" / "counting"


def cmake_ninja(folder, environment):
    return cmake(folder, environment, "-GNinja")


def cmake_make(folder, environment):
    return cmake(folder, environment, "-GUnix Makefiles", "-DBUILD_SHARED_LIBS=ON")


def make(folder, environment):
    run(["make", "CFLAGS=-g -O2", "CXXFLAGS=-g -O2"], folder, environment)
    return folder / "counting"


def autotools(folder, environment):
    (folder / "Makefile").unlink()
    run(["autoreconf", "-i"], folder, environment)
    run(["./configure"], folder, environment)
    run(["make"], folder, environment)
    return folder / "counting"


def meson(folder, environment):
    run(["meson", "setup", "out"], folder, environment)
    run(["meson", "compile", "-C", "out"], folder, environment)
    return folder / "out" / "counting"


def with_ccache(folder, environment):
    environment = dict(environment, CCACHE_DIR=str(folder / "cache"))
    launchers = ["-GNinja", "-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    cmake(folder, environment, *launchers)
    shutil.rmtree(folder / "out")
    run(["ccache", "--zero-stats"], folder, environment)
    program = cmake(folder, environment, *launchers)
    statistics = dict(line.split("\t") for line in run(["ccache", "--print-stats"], folder, environment).splitlines())
    hits = int(statistics["direct_cache_hit"]) + int(statistics["preprocessed_cache_hit"])
    if hits < 2:
        raise Failed(f"the second build took {hits} of 2 objects from the cache")
    return program


SYSTEMS = {"cmake-ninja": (cmake_ninja, "ninja"), "cmake-make": (cmake_make, "make"), "make": (make, "make"),
           "autotools": (autotools, "autoreconf"), "meson": (meson, "meson"), "ccache": (with_ccache, "ccache")}


def check(build_dir, program, report):
    process = subprocess.run([str(build_dir / "bin" / "deadheat"), "run", "--quiet", "--json", str(report), "--", str(program)],
                             capture_output=True, text=True, timeout=120, check=False)
    if process.returncode != 66:
        raise Failed(f"exit code {process.returncode}, expected 66: {process.stderr[-800:]}")
    findings = json.loads(report.read_text())["findings"]
    lines = {(Path(access["location"].get("file", "")).name, access["location"].get("line")) for finding in findings
             for access in finding["accesses"]}
    if lines != {("counter.c", 4)}:
        raise Failed(f"expected races at counter.c:4 only, found {sorted(lines, key=str)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", choices=[[], *SYSTEMS])
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    build_dir = options.build_dir.resolve()
    environment = dict(os.environ, CC=str(build_dir / "bin" / "deadheat-cc"), CXX=str(build_dir / "bin" / "deadheat-c++"))
    passed = failed = skipped = 0
    for name in options.systems or SYSTEMS:
        build, tool = SYSTEMS[name]
        if not shutil.which(tool) and options.install:
            subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES[tool]], check=False,
                           stdout=subprocess.DEVNULL)
        if not shutil.which(tool):
            print(f"{name}: {tool} is not installed")
            skipped += 1
            continue
        with tempfile.TemporaryDirectory(prefix="deadheat-build-") as work:
            folder = Path(work) / "project"
            shutil.copytree(HERE / "project", folder)
            try:
                check(build_dir, build(folder, environment), Path(work) / "report.json")
                passed += 1
                print(f"{name}: built, race found", flush=True)
            except (Failed, subprocess.TimeoutExpired, OSError, ValueError) as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
