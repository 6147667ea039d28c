#!/usr/bin/env python3
"""A soak: a memcached built for the monitor lane, and a native one beside it, under the same throttled load.

    bench/monitor/soak.py --monitored PATH --native PATH [--minutes 30] [--budget 5%] [--out FILE]

Every connection sends batches of sets and gets of random keys and checks the answers; both servers get the same number
of requests. Every 30 seconds: resident memory and processor time of both, findings so far. At the end the monitored
server gets SIGTERM, which must leave a complete log. Prints a table, and with --out writes JSON.
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
import threading
import time


class Server:
    def __init__(self, name, program, port, environment):
        self.name, self.port = name, port
        user = ["-u", "root"] if os.getuid() == 0 else []
        self.process = subprocess.Popen([program, "-p", str(port), "-U", "0", "-t", "4", "-m", "64", "-l", "127.0.0.1", *user],
                                        env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.requests = 0
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
        for server, connection in connections:
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
                server.wrong += answer.count(b"ERROR")
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitored", required=True)
    parser.add_argument("--native", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--budget", default="5%")
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--log", default="/tmp/soak.raw")
    parser.add_argument("--out")
    options = parser.parse_args()
    for old in glob.glob(options.log + ".*"):
        os.unlink(old)
    servers = [Server("native", options.native, 22122, {}),
               Server("monitored", options.monitored, 22123,
                      {"DEADHEAT_OPTIONS": f"log={options.log} budget={options.budget}"})]
    until = time.monotonic() + options.minutes * 60
    clients = []
    for seed in range(4):
        connections = [(server, connect(server.port)) for server in servers]
        client = threading.Thread(target=converse, args=(connections, seed, until, options.pause), daemon=True)
        client.start()
        clients.append(client)
    samples, began = [], time.monotonic()
    while time.monotonic() < until:
        time.sleep(min(30, max(0.1, until - time.monotonic())))
        row = {"minute": round((time.monotonic() - began) / 60, 1)}
        for server in servers:
            row[server.name] = {"rss_kb": server.resident_kb(), "cpu": server.cpu_seconds(), "requests": server.requests}
        row["races"] = sum(open(p).read().count('"t":"race"') for p in glob.glob(options.log + ".*"))
        samples.append(row)
        print(json.dumps(row), flush=True)
        if options.out:
            with open(options.out, "w") as file:
                json.dump(samples, file, indent=1)
    for client in clients:
        client.join(10)
    for server in servers:
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(20)
        print(f"{server.name}: ended with {code}, {server.requests} requests, {server.wrong} errors")
    ended = any('"t":"end"' in open(p).read() for p in glob.glob(options.log + ".*"))
    print("the log is complete" if ended else "the log has no end")
    per = {s.name: samples[-1][s.name]["cpu"] / max(1, samples[-1][s.name]["requests"]) * 1e6 for s in servers}
    print(f"processor seconds per million requests: native {per['native']:.2f}, monitored {per['monitored']:.2f}, "
          f"ratio {per['monitored'] / per['native']:.3f}")
    return 0 if ended else 1


if __name__ == "__main__":
    sys.exit(main())
