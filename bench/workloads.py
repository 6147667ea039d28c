"""What is run: small programs of our own, and Debian packages built by their own build systems.

A Workload builds itself with a Variant and says which command to run. Its standard output must be the same with every
variant, or `output` says why it is not compared.
"""

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from variants import BenchError, compiler_stamp, fresh_copy, newest, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


class Workload:
    name = ""
    real = False
    compare_output = True

    def build(self, variant, where):
        """Builds into where.variant(variant); does nothing when it is up to date."""
        raise NotImplementedError

    def command(self, variant, where):
        raise NotImplementedError

    def prepare_run(self, variant, where):
        """Before each run, outside the measured time."""


@dataclass
class Where:
    """The folders of one benchmark: build (Deadheat's), work (ours), third_party (unpacked sources)."""

    build: Path
    work: Path
    third_party: Path

    def variant(self, variant):
        return self.work / variant.name

    def log(self, variant, name):
        return self.work / "logs" / f"{name}.{variant.name}.log"


class Small(Workload):
    """One file in bench/programs."""

    def __init__(self, source):
        self.source = source
        self.name = source.stem

    def build(self, variant, where):
        target = where.variant(variant) / self.name
        needs = max(newest([self.source, HERE / "programs" / "common.h"]), compiler_stamp(variant, where.build))
        if target.exists() and target.stat().st_mtime > needs:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler, standard = (variant.cxx, "-std=c++20") if self.source.suffix == ".cc" else (variant.cc, "-std=c17")
        log = where.log(variant, self.name)
        log.unlink(missing_ok=True)
        run([compiler, *variant.cflags.split(), standard, "-pthread", self.source, "-o", target], log)

    def command(self, variant, where):
        return [str(where.variant(variant) / self.name)]


class Package(Workload):
    """A Debian source package, and others it needs from source as well."""

    real = True
    packages = ()
    threads = 2

    def build(self, variant, where):
        stamp = where.variant(variant) / f".{self.name}.built"
        if stamp.exists() and stamp.stat().st_mtime > max(compiler_stamp(variant, where.build), newest([HERE / "workloads.py"])):
            return
        result = subprocess.run([ROOT / "scripts" / "fetch-source.sh", *self.packages], capture_output=True, text=True,
                                env=dict(os.environ, DEADHEAT_THIRD_PARTY=str(where.third_party)), check=False)
        if result.returncode != 0:
            raise BenchError(result.stderr.strip() or f"cannot fetch {' '.join(self.packages)}")
        log = where.log(variant, self.name)
        log.unlink(missing_ok=True)
        for package in self.packages:
            fresh_copy(where.third_party / package, self.folder(variant, where, package))
        self.build_package(variant, where, log)
        stamp.touch()

    def build_package(self, variant, where, log):
        raise NotImplementedError

    def folder(self, variant, where, package):
        return where.variant(variant) / self.name / package


def jobs():
    return f"-j{os.cpu_count() or 1}"


def text_input(where, megabytes):
    """A file like a server's log and prose: compressible, but not trivially. Always the same."""
    path = where.work / f"input-{megabytes}.txt"
    size = megabytes << 20
    if path.exists() and path.stat().st_size == size:
        return path
    words = [hashlib.sha256(str(i).encode()).hexdigest()[: 2 + i * 7 % 9] for i in range(4000)]
    out, total, state = [], 0, 12345
    while total < size:
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        pick = state >> 33
        word = words[pick % 60 if pick % 5 else pick // 5 % 4000]
        out.append(word)
        total += len(word) + 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(" ".join(out).encode()[:size].ljust(size, b"."))
    return path


class Pbzip2(Package):
    """pbzip2 and the libbz2 beneath it, both instrumented: without the library there would be nothing to see."""

    packages = ("pbzip2", "bzip2")

    def __init__(self, direction):
        self.direction = direction
        self.name = "pbzip2" if direction == "compress" else "pbzip2-d"

    def build_package(self, variant, where, log):
        bzip2 = self.folder(variant, where, "bzip2")
        pbzip2 = self.folder(variant, where, "pbzip2")
        run(["make", jobs(), "libbz2.a", f"CC={variant.cc}", f"CFLAGS={variant.cflags} -D_FILE_OFFSET_BITS=64"], log, bzip2)
        for name in ("libbz2.a", "bzlib.h"):
            os.link(bzip2 / name, pbzip2 / name)
        env = variant.build_environment()
        # The package predates C++11's user-defined literals; Debian's own flags do not enforce them.
        env["CXXFLAGS"] += " -Wno-reserved-user-defined-literal"
        run(["make", "pbzip2-static"], log, pbzip2, env)

    def input(self, where):
        plain = text_input(where, 10)
        if self.direction == "compress":
            return plain
        packed = plain.with_suffix(".bz2")
        if not packed.exists():
            import bz2

            # Streams of 300 kB one after the other, as pbzip2 writes them.
            data = plain.read_bytes()
            step = 300_000
            packed.write_bytes(b"".join(bz2.compress(data[i:i + step]) for i in range(0, len(data), step)))
        return packed

    def command(self, variant, where):
        options = [f"-p{self.threads}", "-q", "-k", "-c"] + (["-b3"] if self.direction == "compress" else ["-d"])
        return [str(self.folder(variant, where, "pbzip2") / "pbzip2"), *options, str(self.input(where))]


class Zstd(Package):
    name = "zstd"
    packages = ("zstd",)

    def build_package(self, variant, where, log):
        run(["make", jobs(), "zstd-release", "HAVE_ZLIB=0", "HAVE_LZMA=0", "HAVE_LZ4=0", "BACKTRACE=0"], log,
            self.folder(variant, where, "zstd") / "programs", variant.build_environment())

    def command(self, variant, where):
        return [str(self.folder(variant, where, "zstd") / "programs" / "zstd"), f"-T{self.threads}", "-9", "-q", "-c",
                str(text_input(where, 40))]


class Xz(Package):
    name = "xz"
    packages = ("xz-utils",)

    def build_package(self, variant, where, log):
        folder = self.folder(variant, where, "xz-utils")
        run(["./configure", "--disable-shared", "--disable-nls", "--disable-doc", "--disable-dependency-tracking",
             "--quiet"], log, folder, variant.build_environment())
        run(["make", jobs()], log, folder)

    def command(self, variant, where):
        return [str(self.folder(variant, where, "xz-utils") / "src" / "xz" / "xz"), f"-T{self.threads}", "-1", "--block-size=1MiB",
                "-q", "-c", str(text_input(where, 20))]


class LevelDb(Package):
    """db_bench with two threads. Its output is times; what it checks itself is in its exit code."""

    name = "leveldb"
    packages = ("leveldb",)
    compare_output = False

    def build_package(self, variant, where, log):
        folder = self.folder(variant, where, "leveldb")
        run(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=", "-DLEVELDB_BUILD_TESTS=OFF",
             "-DHAVE_SNAPPY=0", "-DHAVE_TCMALLOC=0", "-DHAVE_CRC32C=0"], log, folder, variant.build_environment())
        run(["cmake", "--build", "build", jobs(), "--target", "db_bench"], log, folder)

    def database(self, variant, where):
        return where.variant(variant) / "leveldb.db"

    def prepare_run(self, variant, where):
        subprocess.run(["rm", "-rf", str(self.database(variant, where))], check=True)

    def command(self, variant, where):
        return [str(self.folder(variant, where, "leveldb") / "build" / "db_bench"), f"--threads={self.threads}", "--num=60000",
                "--benchmarks=fillrandom,readrandom,readseq", f"--db={self.database(variant, where)}"]


def all_workloads():
    small = [Small(path) for path in sorted((HERE / "programs").glob("*.c*"))]
    return small + [Pbzip2("compress"), Pbzip2("decompress"), Zstd(), Xz(), LevelDb()]
