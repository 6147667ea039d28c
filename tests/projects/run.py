#!/usr/bin/env python3
"""make test-projects: whole Debian packages through the wrappers.

Each package is fetched from Debian's sources, built by its own build system with nothing but CC and CXX changed
(pbzip2: Makefile; zstd, redis: GNU make; xz, memcached, x264: configure; LevelDB: CMake), and put to work through
`deadheat run`. What must hold: it builds, it does its work correctly (what was compressed decompresses to the input, what
was stored is found again), and the findings are those that docs/field-notes.md explains, listed in known.txt beside this
file; anything else fails.

    tests/projects/run.py [--build build] [PROJECT...]
"""

import argparse
import fnmatch
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from packages import X264, Memcached, Redis  # noqa: E402
from variants import BenchError, deadheat  # noqa: E402
from workloads import LevelDb, Pbzip2, Where, Xz, Zstd, text_input  # noqa: E402


def place(access):
    location = access.get("location", {})
    name = os.path.basename(location.get("file", "") or "?")
    return f"{name}:{location.get('line', 0)}"


def known_findings():
    """Lines `project  variable  file:line  file:line`, where * stands for any part. Comments start with #."""
    known = []
    for line in (HERE / "known.txt").read_text().splitlines():
        fields = line.split("#")[0].split()
        if len(fields) == 4:
            known.append(tuple(fields))
    return known


def is_known(known, project, variable, places):
    """`known` entries that explain this finding, in either order of its places."""
    for name, of, first, second in known:
        if name != project or not fnmatch.fnmatchcase(variable, of):
            continue
        for a, b in ((first, second), (second, first)):
            if fnmatch.fnmatchcase(places[0], a) and fnmatch.fnmatchcase(places[1], b):
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


class Service(Project):
    """A server on a port of this machine, talked to by several connections at once, then asked to stop."""

    port = 0
    connections = 4

    def arguments(self, where):
        raise NotImplementedError

    def converse(self, stream, seed):
        """One connection's work; raises BenchError if an answer is wrong."""
        raise NotImplementedError

    def tasks(self, variant, where):
        yield "serve", self.workload.command(variant, where) + self.arguments(where), where.work / f"{self.name}.out", lambda: None

    def connect(self):
        for _ in range(300):
            try:
                stream = socket.create_connection(("127.0.0.1", self.port), timeout=60)
                return stream, stream.makefile("rb")
            except OSError:
                time.sleep(0.1)
        raise BenchError(f"{self.name}: nothing listens on port {self.port}")

    def drive(self):
        wrong = []

        def one(seed):
            try:
                stream, answers = self.connect()
                with stream:
                    self.converse((stream, answers), seed)
            except (BenchError, OSError) as error:
                wrong.append(str(error))

        clients = [threading.Thread(target=one, args=(seed,)) for seed in range(self.connections)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        if wrong:
            raise BenchError(wrong[0])


class MemcachedService(Service):
    port = 22181

    def arguments(self, where):
        user = ["-u", "root"] if os.getuid() == 0 else []
        return ["-p", str(self.port), "-U", "0", "-t", "4", "-m", "64", "-l", "127.0.0.1", *user]

    def converse(self, stream, seed):
        connection, answers = stream
        rng = random.Random(seed)
        expected = {"set": (b"STORED",), "delete": (b"DELETED", b"NOT_FOUND"), "touch": (b"TOUCHED", b"NOT_FOUND"),
                    "append": (b"STORED", b"NOT_STORED")}
        for number in range(3000):
            key = f"key{rng.randrange(500)}"
            what = rng.choices(["get", "set", "delete", "touch", "append"], [50, 30, 8, 6, 6])[0]
            value = (key + ":").encode() * rng.randrange(2, 200)
            if what in ("set", "append"):
                connection.sendall(b"%s %s 0 0 %d\r\n%s\r\n" % (what.encode(), key.encode(), len(value), value))
            else:
                connection.sendall(f"{what} {key}{' 100' if what == 'touch' else ''}\r\n".encode())
            if what == "get":
                self.check_value(answers, key)
            elif (answer := answers.readline().strip()) not in expected[what]:
                raise BenchError(f"memcached answered {answer} to {what}")
            if number % 1000 == 999:
                connection.sendall(b"stats\r\n")
                while answers.readline().strip() != b"END":
                    pass

    def check_value(self, answers, key):
        while (line := answers.readline().strip()) != b"END":
            if not line.startswith(b"VALUE "):
                raise BenchError(f"memcached answered {line} to get")
            value = answers.read(int(line.split()[3]) + 2)
            if value.strip().strip(b":").split(b":") != [key.encode()] * value.count(b":"):
                raise BenchError("memcached gave back what was not stored")


class RedisService(Service):
    port = 22182

    def arguments(self, where):
        folder = where.work / "redis-data"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return ["--port", str(self.port), "--bind", "127.0.0.1", "--io-threads", "4", "--io-threads-do-reads", "yes",
                "--save", "", "--appendonly", "yes", "--lazyfree-lazy-user-del", "yes", "--dir", str(folder)]

    def converse(self, stream, seed):
        connection, answers = stream
        rng = random.Random(seed)

        def command(*words):
            parts = [str(w).encode() for w in words]
            return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

        def answer():
            line = answers.readline().strip()
            if line[:1] == b"-" or not line:
                raise BenchError(f"redis answered {line}")
            if line[:1] == b"$" and line != b"$-1":
                return answers.read(int(line[1:]) + 2)[:-2]
            return [answer() for _ in range(int(line[1:]))] if line[:1] == b"*" else line

        for number in range(200):
            batch, mine = [], f"of{seed}:{number}"
            batch.append(("set", mine, mine * rng.randrange(1, 300)))
            for _ in range(15):
                batch.append(rng.choice([("incr", "count"), ("lpush", "list", mine), ("rpop", "list"), ("sadd", "set", mine),
                                         ("zadd", "sorted", number, mine), ("hset", "hash", mine, number), ("hgetall", "hash"),
                                         ("get", f"of{rng.randrange(4)}:{rng.randrange(200)}"), ("del", "sorted"), ("unlink", "hash")]))
            batch.append(("get", mine))
            connection.sendall(b"".join(command(*words) for words in batch))
            last = [answer() for _ in batch][-1]
            if not last.startswith(mine.encode()):
                raise BenchError("redis gave back what was not stored")
        if seed == 0:
            connection.sendall(command("bgrewriteaof") + command("flushall", "async"))
            answer(), answer()
            time.sleep(1)


def projects():
    return [Compressor(Pbzip2("compress"), ["-p2", "-b2", "-q", "-c"], ["-p2", "-d", "-q", "-c"]),
            Compressor(Zstd(), ["-T2", "-5", "-q", "-c"], ["-d", "-q", "-c"]),
            Compressor(Xz(), ["-T2", "-1", "--block-size=512KiB", "-q", "-c"], ["-d", "-T2", "-q", "-c"]),
            Database(LevelDb()),
            X264(),
            MemcachedService(Memcached()),
            RedisService(Redis())]


def stop(process):
    """The server that `deadheat run` has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGTERM)


def watch(build, project, command, out, timeout):
    """One run through `deadheat run`: the report."""
    report = out.with_suffix(".json")
    report.unlink(missing_ok=True)
    with open(out, "wb") as stdout:
        process = subprocess.Popen([str(build / "bin" / "deadheat"), "run", "--json", str(report), "--quiet", "--", *command],
                                   stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE)
        try:
            if isinstance(project, Service):
                try:
                    project.drive()
                finally:
                    stop(process)
            _, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    if process.returncode not in (0, 66) or not report.exists():
        raise BenchError(f"exit code {process.returncode}: {errors.decode(errors='replace')[-800:]}")
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
                report = watch(build, project, command, out, arguments.timeout)
                check()
                explained, new = 0, []
                for finding in report["findings"]:
                    places = [place(a) for a in finding["accesses"]][:2]
                    variable = finding["variable"].get("name") or finding["variable"].get("kind")
                    if is_known(known, project.name, variable, places):
                        explained += 1
                    else:
                        new.append(f"{finding['kind']} {' '.join(places)} ({variable})")
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
