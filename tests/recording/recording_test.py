#!/usr/bin/env python3
"""Recordings of real programs, compiled for the record lane: however they end and whatever they start, the program behaves as
it does unrecorded, and what is left passes `deadheat recording check`.

    recording_test.py BUILD [unittest arguments]
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build"
DEADHEAT = os.path.join(BUILD, "bin/deadheat")

PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static volatile int data[4096];

static void* work(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    pthread_mutex_lock(&lock);
    total += data[i & 4095] += (int)i;
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
static void* forever(void* unused) {
  (void)unused;
  for (;;) work((void*)1000);
  return 0;
}
static void spread(long threads, long rounds) {
  pthread_t all[1000];
  for (long i = 0; i < threads; ++i) pthread_create(&all[i], 0, work, (void*)rounds);
  for (long i = 0; i < threads; ++i) pthread_join(all[i], 0);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  spread(4, 1000);
  if (!strcmp(how, "return")) return printf("total %ld\n", total) < 0;
  if (!strcmp(how, "exit")) exit(5);
  if (!strcmp(how, "_exit")) _exit(6);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) *(volatile int*)0 = 1;
  if (!strcmp(how, "pthread_exit")) {
    pthread_t other;
    pthread_create(&other, 0, work, (void*)100000);
    pthread_exit(0);
  }
  if (!strcmp(how, "exit-among-threads")) {
    pthread_t other;
    for (int i = 0; i < 3; ++i) pthread_create(&other, 0, forever, 0);
    usleep(50000);
    exit(8);
  }
  if (!strcmp(how, "threads")) for (int i = 0; i < 10; ++i) spread(100, 10);
  if (!strcmp(how, "at-once")) spread(400, 100);
  if (!strcmp(how, "much")) spread(4, 300000);
  if (!strcmp(how, "fork")) {
    pid_t child = fork();
    if (child == 0) { spread(2, 1000); _exit(9); }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "exit 12", (char*)0);
  if (!strcmp(how, "exec-self")) execl(argv[0], argv[0], "exit", (char*)0);
  if (!strcmp(how, "forever")) {
    printf("up\n");
    fflush(stdout);
    pthread_t other;
    pthread_create(&other, 0, forever, 0);
    forever(0);
  }
  if (!strcmp(how, "values")) {
    static volatile unsigned long given[5], got[5];
    int ends[2];
    for (int i = 0; i < 5; ++i) given[i] = i < 4 ? 0xe7ul << 8 * ((1 << i) - 1) : 0xe7e7, got[i] = ~0ul;
    if (pipe(ends) != 0 || write(ends[1], (void*)given, sizeof given) < 0) return 1;
    if (read(ends[0], (void*)got, sizeof got) < 0) return 1;
    for (int i = 0; i < 5; ++i) if (got[i] != given[i]) return 2;
  }
  if (!strcmp(how, "seconds")) {
    printf("up\n");
    fflush(stdout);
    for (int i = 0; i < atoi(argv[2]) * 50; ++i) { work((void*)20000); usleep(20000); }
    printf("done\n");
  }
  return 0;
}
"""


class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.TemporaryDirectory()
        with open(cls.programs.name + "/program.c", "w") as file:
            file.write(PROGRAM)
        cls.program = cls.programs.name + "/program"
        subprocess.run([BUILD + "/bin/deadheat-cc", "--deadheat-mode=record", "-g", "-O1", "-pthread", cls.program + ".c", "-o",
                        cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.programs.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("DEADHEAT")}
        self.out = os.path.join(self.folder.name, "r")

    def command(self, *words, options=()):
        return [DEADHEAT, "run", "--mode", "record", "--out", self.out, *options, "--", self.program, *words]

    def record(self, *words, options=()):
        done = subprocess.run(self.command(*words, options=options), capture_output=True, text=True, timeout=120,
                              env=self.environment)
        self.stdout, self.stderr = done.stdout, done.stderr
        return done.returncode

    def check(self):
        done = subprocess.run([DEADHEAT, "recording", "check", self.out], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def end(self):
        with open(self.out + "/end.json") as file:
            return json.load(file)

    def ends(self):
        """How each thread's stream ends, by the thread's number."""
        done = subprocess.run([DEADHEAT, "recording", "dump", self.out], capture_output=True, text=True, timeout=120)
        return {int(line.split()[0]): line.split("end: ")[1] for line in done.stdout.splitlines() if " end: " in line}

    def test_ordinary_ends(self):
        for how, code in (("return", 0), ("exit", 5), ("_exit", 6), ("pthread_exit", 0), ("exit-among-threads", 8)):
            with self.subTest(how):
                self.assertEqual(self.record(how, options=["--force"]), code, self.stderr)
                self.check()
                self.assertEqual((self.end()["exit"], self.end()["signal"]), (code, 0))
                self.assertEqual(set(self.ends().values()) - {"thread ended", "process ended", f"process ended, status {code}"}, set())

    def test_output_is_its_own(self):
        self.assertEqual(self.record("return"), 0)
        self.assertRegex(self.stdout, r"^total \d+\n$")

    def test_crashes(self):
        for how, number in (("abort", signal.SIGABRT), ("segv", signal.SIGSEGV)):
            with self.subTest(how):
                self.assertEqual(self.record(how, options=["--force"]), 128 + number)
                self.check()
                self.assertEqual(self.end()["signal"], number)
                # The runtime sees some of them coming.
                self.assertRegex(self.ends()[0], rf"^(cut off|process ended), status ({number}|{128 + number})$")

    def test_values_take_as_few_bytes_as_hold_them(self):
        self.assertEqual(self.record("values"), 0)
        done = subprocess.run([DEADHEAT, "recording", "dump", "--thread", "0", self.out], capture_output=True, text=True)
        values = [line.split()[-2:] for line in done.stdout.splitlines() if " value" in line and " 0xe7" in line]
        self.assertEqual(values, [["value1", "0xe7"], ["value2", "0xe700"], ["value4", "0xe7000000"],
                                  ["value8", "0xe700000000000000"], ["value2", "0xe7e7"]])
        done = subprocess.run([DEADHEAT, "replay", self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("100 % verified", done.stdout)

    def test_a_thousand_threads(self):
        self.assertEqual(self.record("threads"), 0)
        self.assertIn("1005 threads", self.check())

    def test_hundreds_of_threads_at_once(self):
        self.assertEqual(self.record("at-once"), 0)
        self.assertIn("405 threads", self.check())

    def test_much(self):
        self.assertEqual(self.record("much"), 0)
        self.check()
        self.assertGreater(self.end()["sequencers"], 2 * 4 * 300000)

    def test_killed(self):
        process = subprocess.Popen(self.command("forever"), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        time.sleep(0.3)
        with open(self.out + "/recording.json") as file:
            os.kill(json.load(file)["pid"], signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + 9)
        self.check()
        ends = self.ends()
        self.assertIn("cut off", ends[0])
        self.assertIn("cut off", ends[5])

    def test_limit(self):
        started = time.monotonic()
        self.assertEqual(self.record("much", options=["--limit", "1M"]), 0, self.stderr)
        self.assertIn("the limit was reached", self.stderr)
        self.assertLess(time.monotonic() - started, 60)
        self.check()
        self.assertEqual(self.end()["reason"], "limit")
        self.assertLess(os.path.getsize(self.out + "/log"), 4 << 20)

    def test_a_disk_without_room_for_the_modules(self):
        libc = ctypes.CDLL(None, use_errno=True)
        disk = os.path.join(self.folder.name, "disk")
        os.mkdir(disk)
        if libc.mount(b"none", disk.encode(), b"tmpfs", 0, b"size=16k") != 0:
            self.skipTest("no tmpfs can be mounted")
        try:
            self.out = os.path.join(disk, "recording")
            self.assertEqual(self.record("exit"), 5, self.stderr)
            self.assertIn("the program's modules cannot be saved there: recording stopped", self.stderr)
            self.assertIn("the disk was full", self.check())
            self.assertEqual(self.end()["reason"], "disk full")
            done = subprocess.run([DEADHEAT, "replay", self.out], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            libc.umount2(disk.encode(), 2)

    def test_a_map_of_modules_is_missing(self):
        self.assertEqual(self.record("exit"), 5, self.stderr)
        os.remove(self.out + "/modules/0.map")
        done = subprocess.run([DEADHEAT, "replay", self.out], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"{self.out}/modules: expected the module of the function at 0x", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_the_program_outlives_a_killed_tool(self):
        process = subprocess.Popen(self.command("seconds", "2"), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"up\n")
        time.sleep(0.5)
        process.kill()
        self.assertEqual(process.stdout.read(), b"done\n")
        process.communicate(timeout=60)
        self.assertIn("cut short", self.check())

    def test_fork(self):
        self.assertEqual(self.record("fork"), 9)
        self.assertIn("5 threads", self.check())

    def test_exec(self):
        for how, code in (("exec", 12), ("exec-self", 5)):
            with self.subTest(how):
                self.assertEqual(self.record(how, options=["--force"]), code, self.stderr)
                self.check()

    def test_simply_run(self):
        environment = {**self.environment, "DEADHEAT_OPTIONS": f"record={self.out} tool={DEADHEAT}"}
        done = subprocess.run([self.program, "exit"], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual((done.returncode, done.stderr), (5, ""))
        self.assertIn("exit code 5", self.check())
        with open(self.out + "/recording.json") as file:
            self.assertEqual(json.load(file)["command"], [self.program, "exit"])
        with open(self.out + "/modules/0.map") as file:
            before = file.read()
        done = subprocess.run([self.program, "exit"], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(done.returncode, 5)
        self.assertIn("there is a recording already", done.stderr)
        with open(self.out + "/modules/0.map") as file:
            self.assertEqual(file.read(), before)

    def test_simply_run_and_interrupted(self):
        environment = {**self.environment, "DEADHEAT_OPTIONS": f"record={self.out} tool={DEADHEAT}"}
        process = subprocess.Popen([self.program, "forever"], env=environment, stdout=subprocess.PIPE, start_new_session=True)
        process.stdout.readline()
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.check()
        self.assertRegex(self.ends()[0], r"^(cut off|process ended, status 130)$")
        if self.ends()[0] != "cut off":  # then the program had the time to say why
            with open(self.out + "/end.json") as file:
                end = json.load(file)
            self.assertEqual((end["signal"], end["exit"]), (signal.SIGINT, 130))


if __name__ == "__main__":
    unittest.main()
