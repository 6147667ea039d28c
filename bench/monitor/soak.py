#!/usr/bin/env python3
"""make soak: a memcached built for the monitor lane, and a native one beside it, under the same throttled load.

    bench/monitor/soak.py [--minutes 30] [--budget 5%] [--out FILE] [--monitored PATH --native PATH]

memcached, and the libevent beneath it, are fetched from Debian's sources and built twice by their own build systems,
natively and with CC=deadheat-cc; --monitored and --native take programs that are there already.

Every connection sends each batch of sets and gets of random keys to both servers, one after the other (which is first
changes from batch to batch), and checks the answers: interleaved, so that whatever else the machine does meets both
alike. Every so often: resident memory, processor time and throughput of both, findings so far. At the end the monitored
server gets SIGTERM, which must leave a complete log. Prints a table and the findings, and with --out writes JSON.
Exit code 0: answers were right, the log is complete, memory flat (the last quarter within 5 % of the second).
"""

import argparse
import glob
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from packages import Memcached  # noqa: E402
from variants import NATIVE, BenchError, Variant, deadheat  # noqa: E402
from workloads import ROOT, Where  # noqa: E402


def build_servers(build, third_party):
    """Paths of the native and of the monitored server."""
    ours = deadheat(build)
    where = Where(build, build / "bench-soak", third_party)
    paths = []
    for variant in (NATIVE, Variant("monitor", ours.cc, ours.cxx, "--deadheat-mode=monitor")):
        print(f"soak: building memcached, {variant.name}", file=sys.stderr, flush=True)
        Memcached().build(variant, where)
        paths.append(Memcached().command(variant, where)[0])
    return paths


class Server:
    def __init__(self, name, program, port, environment):
        self.name, self.port = name, port
        user = ["-u", "root"] if os.getuid() == 0 else []
        self.process = subprocess.Popen([program, "-p", str(port), "-U", "0", "-t", "4", "-m", "64", "-l", "127.0.0.1", *user],
                                        env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.requests = 0
        self.answering = 0.0  # seconds that clients waited
        self.wrong = 0
        self.lock = threading.Lock()

    def resident_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(port):
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"soak: nothing listens on port {port}")


def converse(connections, seed, until, pause):
    """One client: the same batches to all servers."""
    rng = random.Random(seed)
    while time.monotonic() < until:
        keys = [f"key{rng.randrange(20000)}" for _ in range(50)]
        batch = b""
        for key in keys:
            if rng.random() < 0.3:
                value = (key * 8)[: rng.randrange(20, 100)].encode()
                batch += b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value)
            else:
                batch += b"get %s\r\n" % key.encode()
        connections.reverse()
        for server, connection in connections:
            began = time.monotonic()
            connection.sendall(batch)
            answer, ends = b"", 0
            while ends < len(keys):
                part = connection.recv(1 << 16)
                if not part:
                    raise SystemExit("soak: the server closed a connection")
                answer += part
                ends = answer.count(b"END\r\n") + answer.count(b"STORED\r\n")
            with server.lock:
                server.requests += len(keys)
                server.answering += time.monotonic() - began
                server.wrong += answer.count(b"ERROR")
        time.sleep(pause)


def races_of(log):
    return [json.loads(line) for path in glob.glob(log + ".*") for line in open(path) if '"t":"race"' in line]


def findings_of(build, log):
    """One line for each finding of the logs."""
    lines = []
    for path in sorted(glob.glob(log + ".*")):
        done = subprocess.run([build / "bin" / "deadheat", "report-raw", "--quiet", "--json", "-", path], capture_output=True,
                              text=True)
        for finding in json.loads(done.stdout)["findings"]:
            places = [f"{a['operation']} {a['location'].get('file', '?')}:{a['location'].get('line', 0)}" for a in finding["accesses"]]
            lines.append(f"{finding['variable'].get('name') or finding['variable']['kind']}: " + ", ".join(places))
    return sorted(lines)


def is_flat(samples):
    """The last quarter's memory is the second quarter's: what grows over hours would show."""
    resident = [row["monitored"]["rss_kb"] for row in samples]
    quarter = max(1, len(resident) // 4)
    return max(resident[-quarter:]) <= 1.05 * max(resident[quarter:2 * quarter] or resident)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitored", help="a memcached that was built for the monitor lane")
    parser.add_argument("--native", help="and one that was not")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--third-party", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--budget", default="5%")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between the batches of one connection")
    parser.add_argument("--every", type=float, default=30, help="seconds between samples")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if (options.monitored is None) != (options.native is None):
        parser.error("--monitored and --native belong together")
    build = options.build.resolve()
    native, monitored = options.native, options.monitored
    if native is None:
        native, monitored = build_servers(build, (options.third_party or build / "third_party").resolve())
    with tempfile.TemporaryDirectory(prefix="deadheat-soak-") as folder:
        return soak(options, build, native, monitored, os.path.join(folder, "raw"))


def soak(options, build, native, monitored, log):
    servers = [Server("native", native, 22122, {}),
               Server("monitored", monitored, 22123, {"DEADHEAT_OPTIONS": f"log={log} budget={options.budget}"})]
    try:
        return converse_and_watch(options, build, servers, log)
    finally:
        for server in servers:
            if server.process.poll() is None:
                server.process.kill()


def converse_and_watch(options, build, servers, log):
    until = time.monotonic() + options.minutes * 60
    clients = []
    for seed in range(4):
        connections = [(server, connect(server.port)) for server in servers]
        client = threading.Thread(target=converse, args=(connections, seed, until, options.pause), daemon=True)
        client.start()
        clients.append(client)
    samples, began = [], time.monotonic()
    print("| minute | requests to each | resident, native | monitored | processor time, native | monitored | "
          "requests/s of waiting, native | monitored | findings so far |\n" + "|---" * 9 + "|", flush=True)
    while time.monotonic() < until:
        time.sleep(min(options.every, max(0.1, until - time.monotonic())))
        row = {"minute": round((time.monotonic() - began) / 60, 1), "findings": len(races_of(log))}
        for server in servers:
            if server.process.poll() is not None:
                raise BenchError(f"the {server.name} server has ended with {server.process.returncode}")
            row[server.name] = {"rss_kb": server.resident_kb(), "cpu": server.cpu_seconds(), "requests": server.requests,
                                "throughput": server.requests / max(server.answering, 1e-9)}
        samples.append(row)
        one, two = row["native"], row["monitored"]
        print(f"| {row['minute']} | {two['requests']:,} | {one['rss_kb']:,} KB | {two['rss_kb']:,} KB | {one['cpu']:.1f} s | "
              f"{two['cpu']:.1f} s | {one['throughput']:,.0f} | {two['throughput']:,.0f} | {row['findings']} |", flush=True)
    for client in clients:
        client.join(10)
    for server in servers:
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(20)
        print(f"{server.name}: ended with {code}, {server.requests:,} requests, {server.wrong} errors")
    ended = any('"t":"end"' in open(p).read() for p in glob.glob(log + ".*"))
    per = {s.name: samples[-1][s.name]["cpu"] / max(1, s.requests) * 1e6 for s in servers}
    cost = per["monitored"] / per["native"] - 1
    throughput = samples[-1]["monitored"]["throughput"] / samples[-1]["native"]["throughput"]
    flat = is_flat(samples)
    print(f"processor seconds per million requests: native {per['native']:.2f}, monitored {per['monitored']:.2f}: "
          f"{cost * 100:+.1f} % of {options.budget}")
    print(f"throughput against native: {throughput:.3f}")
    print("memory: " + ("flat" if flat else "GROWS"))
    print("the log is complete" if ended else "the log has NO END")
    findings = findings_of(build, log)
    print(f"{len(findings)} findings:\n  " + "\n  ".join(findings))
    if options.out:
        options.out.write_text(json.dumps({"samples": samples, "cost": cost, "throughput": throughput, "findings": findings},
                                          indent=1) + "\n")
    return 0 if ended and flat and not any(s.wrong for s in servers) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"soak: {error}", file=sys.stderr)
        sys.exit(2)
