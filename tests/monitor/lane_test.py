#!/usr/bin/env python3
"""The monitor lane as its users meet it: options, long-running processes, caps, freed memory, invisible code."""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "build")
BIN = os.path.join(BUILD, "bin")

COUNTER = """
#include <thread>
static volatile long counter;
static void work() { for (int i = 0; i < ROUNDS; ++i) for (int j = 0; j < 1000; ++j) counter = counter + 1; }
int main() { std::thread a(work), b(work); a.join(); b.join(); }
"""

# Two threads walk an array; up to element 512 each has its own half, from there on they share one.
STREAM = """
#include <thread>
#include <atomic>
static long points[2][4096];
static std::atomic<int> together;
static __attribute__((noinline)) void touch(long* p) { *p += 1; }
static void walk(int me) {
  together.fetch_add(1);
  while (together.load() < 2) {}
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < 4096; ++i) touch(i < 512 ? &points[me][i] : &points[0][i]);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
int main() { std::thread a(walk, 0), b(walk, 1); a.join(); b.join(); }
"""

SERVER = """
#include <signal.h>
#include <unistd.h>
#include <thread>
static volatile long counter;
static volatile sig_atomic_t stop;
static void work() { while (!stop) for (int i = 0; i < 1000; ++i) counter = counter + 1; }
int main(int argc, char**) {
  if (argc > 1) signal(SIGTERM, [](int) { stop = 1; });
  std::thread a(work), b(work);
  a.join(); b.join();
  return 7;
}
"""

# A library without instrumentation hands a value over with atomics of its own.
HIDDEN = """
static int ready;
extern "C" void hand_over() { __atomic_store_n(&ready, 1, __ATOMIC_RELEASE); }
extern "C" void await_it() { while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {} }
extern "C" void take_back() { __atomic_store_n(&ready, 0, __ATOMIC_RELEASE); }
extern "C" void await_back() { while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {} }
extern "C" void call_back(void (*f)(), int me) {
  for (int i = 0; i < 20000; ++i) {
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != me) {}
    f();
    __atomic_store_n(&ready, !me, __ATOMIC_RELEASE);
  }
}
"""
VISIBLE = """
#include <thread>
extern "C" void hand_over(); extern "C" void await_it(); extern "C" void take_back(); extern "C" void await_back();
extern "C" void call_back(void (*f)(), int me);
long shared[4];
static __attribute__((noinline)) void bump() { shared[1]++; shared[2] += shared[1]; }
int main(int argc, char**) {
  if (argc > 1) {
    std::thread a([] { call_back(bump, 0); }), b([] { call_back(bump, 1); });
    a.join(); b.join();
    return 0;
  }
  void (*volatile over)() = hand_over;
  std::thread a([=] { for (int i = 0; i < 20000; ++i) { shared[0]++; over(); await_back(); } });
  std::thread b([] { for (int i = 0; i < 20000; ++i) { await_it(); shared[0]++; take_back(); } });
  a.join(); b.join();
}
"""

# Each thread writes to memory and frees it; the allocator hands it to the other one.
RECYCLED = """
#include <stdlib.h>
#include <thread>
static void work() {
  for (int i = 0; i < 200000; ++i) {
    volatile long* p = static_cast<volatile long*>(malloc(4096 + (i & 7) * 512));
    p[0] = i; p[5] = p[0] + 1;
    free(const_cast<long*>(p));
  }
}
int main() { std::thread a(work), b(work); a.join(); b.join(); }
"""

STACKS = """
#include <thread>
long balance;
__attribute__((noinline)) void deposit(long v) { balance += v; asm volatile("" ::: ); }
__attribute__((noinline)) void customer(long v) { for (int i = 0; i < 300000; ++i) deposit(v + i); }
int main() { std::thread a(customer, 1), b(customer, 2); a.join(); b.join(); }
"""

# A call-back of libc's qsort, which nobody built with frame pointers.
SORTED = """
#include <stdlib.h>
#include <thread>
long compared;
static int compare(const void* a, const void* b) { compared++; return *(const int*)a - *(const int*)b; }
__attribute__((noinline)) void customer(int v) {
  for (int i = 0; i < 30000; ++i) { int a[] = {v, 2, 1, 7}; qsort(a, 4, sizeof *a, compare); }
}
int main() { std::thread a(customer, 1), b(customer, 2); a.join(); b.join(); }
"""

# Accesses that library calls make, under functions of the program.
COPIES = """
#include <string.h>
#include <stdlib.h>
#include <thread>
char board[256];
static size_t volatile length = 200;
__attribute__((noinline)) void note(const char* text) { memcpy(board, text, length); asm volatile("" ::: ); }
__attribute__((noinline)) void customer(int v) {
  char text[256] = {static_cast<char>(v)};
  for (int i = 0; i < 100000; ++i) note(text);
}
int main() { std::thread a(customer, 1), b(customer, 2); a.join(); b.join(); }
"""

# One thread frees what the other still reads.
FREED = """
#include <stdlib.h>
#include <unistd.h>
#include <thread>
static long* volatile shared;
__attribute__((noinline)) void look() { for (int i = 0; i < 1000000; ++i) { long* p = shared; static_cast<void>(*(volatile long*)p); } }
__attribute__((noinline)) void drop(long* block) { usleep(2000); free(block); }
int main() {
  long* const block = static_cast<long*>(calloc(8, sizeof(long)));
  shared = block + 3;
  std::thread a(look), b(drop, block);
  a.join(); b.join();
}
"""

# The paper's figures 2 and 3. In 2, both threads write x with nothing released in between: while one is in its
# region, the other comes. In 3, the first thread's region has ended, by an unlock, before the other's begins: in (a) they
# are ordered by their mutex, in (b) there are two mutexes, and this is a race that monitors do not see.
FIGURES = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
long x;
static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int figure;
static char part;
static void* thread(void* late) {
  pthread_mutex_t* const m = late && part == 'b' ? &m2 : &m1;
  usleep(late ? 60000 : 20000);
  if (figure == 3) pthread_mutex_lock(m);
  x++;
  if (figure == 3) pthread_mutex_unlock(m);
  usleep(150000);
  return nullptr;
}
int main(int, char** argv) {
  figure = atoi(argv[1]);
  part = argv[1][1];
  pthread_t a, b;
  pthread_create(&a, nullptr, thread, nullptr);
  pthread_create(&b, nullptr, thread, &a);
  pthread_join(a, nullptr); pthread_join(b, nullptr);
}
"""

# Section 3.4: the monitor of x starts in one function, lives on in others, and ends in whichever unlocks.
ACROSS = """
#include <pthread.h>
#include <thread>
long x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static bool locks;
static __attribute__((noinline)) void take() { if (locks) pthread_mutex_lock(&m); }
static __attribute__((noinline)) void add(long v) { x += v; }
static __attribute__((noinline)) long rest(long v) { for (int i = 0; i < 100; ++i) v = v * 31 + 7; return v; }
static __attribute__((noinline)) void give() { if (locks) pthread_mutex_unlock(&m); }
static void work() { for (long i = 0; i < 30000; ++i) { take(); add(i); if (rest(i) == 5) return; give(); } }
int main(int argc, char**) {
  locks = argc > 1;
  std::thread a(work), b(work);
  a.join(); b.join();
}
"""

# Two threads take turns at `data`; what hands the turn over is not interposed. Nothing here races.
HANDED_OVER = """
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <thread>
long data[4];
int ends[2];
static void via_flock(bool writes) {
  int const fd = open("lock", O_RDWR | O_CREAT, 0600);
  for (int i = 0; i < ROUNDS; ++i) { while (flock(fd, LOCK_EX | LOCK_NB)) sched_yield(); data[0]++; flock(fd, LOCK_UN); }
  close(fd); static_cast<void>(writes);
}
static void via_name(bool writes) {
  for (int i = 0; i < ROUNDS; ++i) {
    struct stat s;
    if (writes) { data[1]++; mkdir("name", 0700); while (!stat("name", &s)) sched_yield(); }
    else { while (stat("name", &s)) sched_yield(); data[1]++; rmdir("name"); }
  }
}
static void via_stream(bool writes) {
  FILE* const file = fdopen(ends[writes], writes ? "w" : "r");
  setvbuf(file, nullptr, _IONBF, 0);
  for (int i = 0; i < ROUNDS; ++i) {
    if (writes) { data[i & 3]++; putc_unlocked('x', file); usleep(50); }
    else { char c; while (read(ends[0], &c, 1) != 1) {} data[i & 3]++; }
  }
}
static void via_child(bool writes) {
  for (int i = 0; i < ROUNDS / 8; ++i) {
    if (writes) {
      data[2]++;
      pid_t const child = fork();
      if (child == 0) { char c = 'x'; _exit(write(ends[1], &c, 1) != 1); }
      usleep(3000);
      waitpid(child, nullptr, 0);
    } else { char c; while (read(ends[0], &c, 1) != 1) {} data[2]++; }
  }
}
int main(int, char** argv) {
  if (pipe(ends)) return 9;
  void (*const ways[])(bool) = {via_flock, via_name, via_stream, via_child};
  void (*const way)(bool) = ways[atoi(argv[1])];
  std::thread a([=] { way(true); }), b([=] { way(false); });
  a.join(); b.join();
}
"""

# A call-back under the lock of a library that nobody sees. It leaves by a jump, returns to libc, or to nobody in
# particular.
LIBRARY = """
#include <setjmp.h>
#include <stdlib.h>
static int held;
static __thread jmp_buf back;
static void take() { while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE)) {} }
static void give() { __atomic_store_n(&held, 0, __ATOMIC_RELEASE); for (volatile int i = 0; i < 300; i = i + 1) {} }
extern "C" void call_jumping(void (*f)(jmp_buf*)) { take(); if (setjmp(back) == 0) f(&back); give(); }
extern "C" void call_sorting(int (*compare)(const void*, const void*)) {
  int a[16] = {5, 3, 9, 1, 7, 2, 8, 4, 6, 0, 15, 13, 11, 12, 14, 10};
  take(); qsort(a, 16, sizeof *a, compare); give();
}
extern "C" void call_plainly(long (*f)(long)) { take(); f(1); give(); }
extern "C" void call_catching(long (*f)(long)) { take(); try { f(1); } catch (...) {} give(); }
"""
CALLED_BACK = """
#include <setjmp.h>
#include <stdlib.h>
#include <thread>
extern "C" void call_jumping(void (*f)(jmp_buf*));
extern "C" void call_sorting(int (*compare)(const void*, const void*));
extern "C" void call_plainly(long (*f)(long));
extern "C" void call_catching(long (*f)(long));
long counter;
static void jumping(jmp_buf* back) { counter++; longjmp(*back, 1); }
static int comparing(const void* a, const void* b) { counter++; return *(const int*)a - *(const int*)b; }
static __attribute__((noinline)) long last(long v) { counter += v; return counter; }
static long tail(long v) { [[clang::musttail]] return last(v); }
static volatile size_t too_much = size_t{1} << 60;
static long failing(long v) { counter += v; ::operator new(too_much); return 0; }
int main(int, char** argv) {
  int const how = atoi(argv[1]);
  auto const work = [=] {
    for (int i = 0; i < 3000; ++i) {
      if (how == 0) call_jumping(jumping);
      if (how == 1) call_sorting(comparing);
      if (how == 2) call_plainly(tail);
      if (how == 3) call_catching(failing);
    }
  };
  std::thread a(work), b(work), c(work);
  a.join(); b.join(); c.join();
}
"""

# The worker would write `result` after a loop that takes for ever; it is cancelled, made to jump, or the process ends.
NEVER_WRITTEN = """
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
long result;
unsigned long n = 1ul << 50;
unsigned char table[256];
static __thread sigjmp_buf back;
static void jump(int) { siglongjmp(back, 1); }
static void* work(void* how) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  if (sigsetjmp(back, 1)) return nullptr;
  unsigned long s = 0;
  for (unsigned long i = 0; i < n; i++) s = s * 31 + table[(s >> 7) & 255];
  result = s;
  return how;
}
int main(int, char** argv) {
  int const how = atoi(argv[1]);
  signal(SIGUSR1, jump);
  if (how == 3) n = 20000000;
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  usleep(how == 3 ? 20000 : 200000);
  result = 5;
  if (how == 0) pthread_cancel(thread);
  if (how == 1) pthread_kill(thread, SIGUSR1);
  if (how == 2) return 0;
  pthread_join(thread, nullptr);
  return 0;
}
"""

# One loop, no calls, no end.
LONG_LOOP = """
#include <thread>
unsigned a[1024];
static void run(unsigned s) { for (long i = 0; i < 1L << 50; i++) { s = s * 1103515245u + 12345u; a[s >> 22] += s; } }
int main() { std::thread x(run, 1), y(run, 2); x.join(); y.join(); }
"""

ALONE_AGAIN = """
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include <thread>
int main(int argc, char**) {
  std::thread([] { usleep(50000); }).join();
  if (argc > 1) { printf("unshare %d\\n", unshare(CLONE_NEWUSER)); return 0; }
  usleep(500000);
  DIR* const d = opendir("/proc/self/task");
  int n = 0;
  while (readdir(d)) ++n;
  printf("tasks %d\\n", n - 2);
}
"""


# An allocator in the program that nobody sees: one block goes from whoever frees it to whoever is next.
OWN_FREE = """
#include <stddef.h>
extern "C" void* __libc_malloc(size_t);
extern "C" void __libc_free(void*);
static void* cached;
extern "C" void* malloc(size_t size) {
  if (size == 48) if (void* p = __atomic_exchange_n(&cached, nullptr, __ATOMIC_ACQUIRE)) return p;
  return __libc_malloc(size == 48 ? 4000 : size);
}
extern "C" void free(void* p) {
  if (p && ((size_t*)p)[-1] > 4000 && ((size_t*)p)[-1] < 4064) p = __atomic_exchange_n(&cached, p, __ATOMIC_RELEASE);
  __libc_free(p);
}
"""
NEW_AND_DELETE = """
#include <thread>
struct Block { long a[6]; };
static void work() {
  for (int i = 0; i < 20000; ++i) { Block* volatile p = new Block; p->a[0] = i; p->a[1] = p->a[0] + 1; delete p; }
}
int main() { std::thread a(work), b(work); a.join(); b.join(); }
"""


# An inline function that releases, of which the linker keeps the body that came with an uninstrumented object.
INLINE_HEADER = """#pragma once
#include <atomic>
struct Flag {
  std::atomic<int> value{0};
  __attribute__((noinline)) void post(int x) { value.store(x, std::memory_order_release); }
  __attribute__((noinline)) bool reached(int x) { return value.load(std::memory_order_acquire) >= x; }
};
"""
INLINE_STRANGER = """#include "flag.h"
bool stranger(Flag& flag) { flag.post(0); return flag.reached(0); }
"""
INLINE_PROGRAM = """#include <sched.h>
#include <thread>
#include "flag.h"
bool stranger(Flag& flag);
Flag there, back;
long shared;
int main() {
  Flag other;
  stranger(other);
  constexpr int kTurns = 3000;
  std::thread thread([] {
    for (int i = 1; i <= kTurns; ++i) {
      while (!there.reached(i)) sched_yield();
      shared += 2;
      back.post(i);
    }
  });
  for (int i = 1; i <= kTurns; ++i) {
    shared += 1;
    there.post(i);
    while (!back.reached(i)) sched_yield();
  }
  thread.join();
  return shared == 3 * kTurns ? 0 : 1;
}
"""

# Generated code at the very beginning of what is mapped.
GENERATED_CODE = """#include <string.h>
#include <sys/mman.h>
#include <thread>
long mine[8], theirs;
int main() {
  auto* const pages = static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(pages, 4096);
  char* const code = pages + 4096;
  memcpy(code, "\\xb8\\x07\\x00\\x00\\x00\\xc3", 6);  // mov $7, %eax; ret
  mprotect(code, 4096, PROT_READ | PROT_EXEC);
  auto* const seven = reinterpret_cast<int (*)()>(code);
  std::thread thread([] { for (int i = 0; i < 100000; ++i) ++theirs; });
  long sum = 0;
  for (int i = 0; i < 20000; ++i) { mine[i & 7] += i; sum += seven(); mine[(i + 1) & 7] -= 3; }
  thread.join();
  return sum == 7 * 20000 ? 0 : 1;
}
"""

TWO_ON_A_LINE = """
#include <thread>
long first, second;
static void work() { for (int i = 0; i < ROUNDS; ++i) { first += i; second += i; asm volatile("" ::: "memory"); } }
int main() { std::thread a(work), b(work); a.join(); b.join(); }
"""

# All of them live at the same time.
MANY_THREADS = """
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void* wait_for_all(void*) { pthread_barrier_wait(&all); return nullptr; }
int main(int, char** argv) {
  unsigned const count = atoi(argv[1]);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_barrier_init(&all, nullptr, count);
  auto* const threads = new pthread_t[count];
  for (unsigned i = 0; i < count; ++i)
    if (pthread_create(&threads[i], &small, wait_for_all, nullptr)) _Exit(9);
  for (unsigned i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
}
"""

# One thread walks a member of an array of structs; the other is at one element in the middle, or walks as well. The
# member it is at is the same one, or the one beside it.
STRIDED = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
struct Item { int key; short value, other; } items[5000];
static int count = 5000;
static char how, which;
static void* walk(void*) { for (int i = 0; i < count; ++i) items[i].value = 1; usleep(60000); return nullptr; }
static void* meet(void*) {
  usleep(how == 'f' ? 0 : 20000);
  if (how == 'w') {
    if (which == 's') for (int i = 4400; i > 700; i -= 3) items[i].value++;
    else for (int i = 4400; i > 700; i -= 3) items[i].other++;
  } else if (how == 'r') {
    for (int i = 0; i < count; ++i) if (which == 's') items[i].value = 2; else items[i].other = 2;
  } else {
    if (which == 's') items[2500].value++; else items[2500].other++;
  }
  usleep(60000);
  return nullptr;
}
int main(int, char** argv) {
  how = argv[1][0], which = argv[1][1];
  pthread_t a, b;
  pthread_create(&b, nullptr, meet, nullptr);
  usleep(how == 'f' ? 20000 : 0);
  pthread_create(&a, nullptr, walk, nullptr);
  pthread_join(a, nullptr); pthread_join(b, nullptr);
}
"""

# Is what stands at this address, where an interposed function jumps to, the library's?
JUMPS_TO = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int main(int argc, char** argv) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  static char a[64], b[64];
  memcpy(a, b, argc * 3);
  for (int i = 1; i + 1 < argc; i += 2)
    printf("%s %d\\n", argv[i], *(void**)strtoul(argv[i + 1], nullptr, 16) == dlsym(RTLD_NEXT, argv[i]));
}
"""


class MonitorLane(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def call(self, *words, code=0, timeout=120, **environment):
        done = subprocess.run(words, cwd=self.folder.name, capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, **environment})
        if code is not None:
            self.assertEqual(done.returncode, code, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def read_all(self, prefix):
        text = ""
        for path in glob.glob(prefix + ".*"):
            with open(path) as file:
                text += file.read()
        return text

    def build(self, text, *flags, name="program"):
        with open(self.path(name + ".cc"), "w") as file:
            file.write(text)
        self.call(os.path.join(BIN, "deadheat-c++"), "--deadheat-mode=monitor", "-O1", "-g", "-pthread", name + ".cc", "-o",
                  name, *flags)
        return "./" + name

    def findings(self, program, *options, arguments=()):
        self.call(os.path.join(BIN, "deadheat"), "run", "--mode", "monitor", *options, "--json", "out.json", "--quiet", "--",
                  program, *arguments, code=None)
        with open(self.path("out.json")) as file:
            return json.load(file)

    def test_a_race_is_found_with_both_stacks(self):
        report = self.findings(self.build(STACKS), "--cap", "0")
        self.assertTrue(report["findings"])
        finding = report["findings"][0]
        self.assertEqual(finding["detectors"], ["monitor"])
        self.assertEqual(finding["variable"]["name"], "balance")
        for access in finding["accesses"]:
            self.assertEqual([frame["function"].split("(")[0] for frame in access["stack"][:2]], ["deposit", "customer"])
            self.assertEqual(access["location"]["line"], 4)

    def test_library_calls_have_the_stack_of_their_callers(self):
        report = self.findings(self.build(COPIES), "--cap", "0")
        finding = next(f for f in report["findings"] if f["variable"]["name"] == "board")
        for access in finding["accesses"]:
            self.assertEqual([frame["function"].split("(")[0] for frame in access["stack"][:2]], ["note", "customer"])

    def test_stacks_do_not_end_in_libraries_without_frame_pointers(self):
        report = self.findings(self.build(SORTED, "-O2"), "--cap", "0")
        finding = next(f for f in report["findings"] if f["variable"]["name"] == "compared")
        for access in finding["accesses"]:
            functions = [frame.get("function", "").split("(")[0] for frame in access["stack"]]
            self.assertEqual(functions[0], "compare")
            self.assertIn("customer", functions)

    def test_stacks_of_code_without_unwind_tables(self):
        program = self.build(STACKS, "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions")
        report = self.findings(program, "--cap", "0")
        for access in report["findings"][0]["accesses"]:
            self.assertEqual([frame["function"].split("(")[0] for frame in access["stack"][:2]], ["deposit", "customer"])

    def test_a_program_that_is_simply_run_takes_its_options_from_the_environment(self):
        program = self.build(COUNTER, "-DROUNDS=30000")
        text = self.call(program, code=66, DEADHEAT_OPTIONS="cap=0")
        self.assertIn("data race on counter", text)
        self.assertIn("expected a percentage", self.call(program, code=2, DEADHEAT_OPTIONS="sample=200%"))
        self.assertIn("expected a number", self.call(program, code=2, DEADHEAT_OPTIONS="cap=many"))
        self.assertIn("from 0 to 255", self.call(program, code=2, DEADHEAT_OPTIONS="cap=256"))
        for folder in ("log=/", "log=", f"log={self.folder.name}/"):
            self.assertIn("expected the beginning of a file's name", self.call(program, code=2, DEADHEAT_OPTIONS=folder))

    def test_wrong_options_are_refused_before_anything_runs(self):
        program = self.build(COUNTER, "-DROUNDS=1")
        run = (os.path.join(BIN, "deadheat"), "run")
        self.assertIn("expected a percentage", self.call(*run, "--sample", "lots", "--", program, code=2))
        self.assertIn("expected a number", self.call(*run, "--cap", "300", "--", program, code=2))
        self.assertIn("expected one of them", self.call(*run, "--sample", "5%", "--budget", "5%", "--", program, code=2))
        self.call(os.path.join(BIN, "deadheat-c++"), "-g", "program.cc", "-DROUNDS=1", "-pthread", "-o", "watched")
        self.assertIn("belongs to the monitor lane", self.call(*run, "--budget", "5%", "--", "./watched", code=2))
        self.assertIn("belongs to --mode monitor", self.call(*run, "--mode", "watch", "--budget", "5%", "--", program, code=2))
        self.assertIn("belongs to --mode monitor", self.call(*run, "--mode", "watch", "--random-cap", "--", program, code=2))
        self.assertIn("expected one of them", self.call(program, code=2, DEADHEAT_OPTIONS="sample=5% budget=5%"))

    def log_until_found(self, options):
        """Runs ./program, which does not end by itself, until its log has a race, and ends it; the whole log."""
        log = self.path("raw")
        for old in glob.glob(log + ".*"):
            os.unlink(old)
        process = subprocess.Popen([self.path("program")], env={**os.environ, "DEADHEAT_OPTIONS": f"log={log} {options}"})
        self.addCleanup(process.kill)
        begun = time.time()
        while '"t":"race"' not in self.read_all(log):
            self.assertLess(time.time() - begun, 60, f"{options}: no finding within a minute")
            time.sleep(0.02)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), -signal.SIGTERM)
        return self.read_all(log)

    def test_sampling_and_budgets_find_a_race_that_goes_on(self):
        self.build(SERVER)
        for options in ("sample=10%", "sample=1%", "budget=5%"):
            log = self.log_until_found(options)
            end = next(json.loads(line) for line in log.splitlines() if '"t":"end"' in line)
            self.assertGreater(end["statistics"]["windows"] + end["statistics"]["points"], 0, options)

    def test_findings_are_written_while_the_program_runs(self):
        self.build(SERVER)
        self.assertIn('"t":"end"', self.log_until_found("sample=20%"))

    def test_a_handler_of_sigterm_is_the_programs_own(self):
        program = self.build(SERVER)
        process = subprocess.Popen([self.path("program"), "handles"],
                                   env={**os.environ, "DEADHEAT_OPTIONS": "sample=20% exitcode=0"}, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.kill)
        line = process.stderr.readline()  # printed as they happen
        while line and "data race on counter" not in line:
            line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 7, program)
        self.assertIn("data race on counter", line)

    def test_the_cap_hides_what_comes_late_in_a_loop_and_random_caps_find_it(self):
        # One pass is over before the next tick begins: the ten monitors of the place are spent on the elements that
        # are not shared.
        self.assertEqual(self.findings(self.build(STREAM, "-DROUNDS=3"), "--cap", "10")["findings"], [])
        self.assertTrue(self.findings(self.build(STREAM, "-DROUNDS=400"), "--cap", "0")["findings"])
        program = self.build(STREAM, "-DROUNDS=20000")
        # By chance, and only when both threads have a processor.
        self.assertTrue(any(self.findings(program, "--cap", "10", "--random-cap")["findings"] for _ in range(60)))

    def test_releases_in_invisible_code_stop_monitors(self):
        with open(self.path("hidden.cc"), "w") as file:
            file.write(HIDDEN)
        for how in (("-c", "hidden.cc", "-o", "hidden.o"), ("-shared", "-fPIC", "hidden.cc", "-o", "libhidden.so")):
            self.call("clang++-19", "-O2", *how)
            program = self.build(VISIBLE, how[-1], "-Wl,-rpath,$ORIGIN")
            for arguments in ((), ("call-backs",)):
                report = self.findings(program, "--cap", "0", arguments=arguments)
                self.assertEqual(report["findings"], [], how)
                self.assertGreater(report["statistics"]["invisible"], 1000)

    def test_an_inline_function_of_an_object_that_is_not_instrumented(self):
        for name, text in (("flag.h", INLINE_HEADER), ("stranger.cc", INLINE_STRANGER), ("main.cc", INLINE_PROGRAM)):
            with open(self.path(name), "w") as file:
                file.write(text)
        self.call("clang++-19", "-O1", "-c", "stranger.cc", "-o", "stranger.o")
        # The first copy is kept.
        self.call(os.path.join(BIN, "deadheat-c++"), "--deadheat-mode=monitor", "-O1", "-g", "-pthread", "stranger.o", "main.cc",
                  "-o", "program")
        report = self.findings("./program", "--cap", "0")
        self.assertEqual(report["findings"], [])
        self.assertEqual(report["program"]["exit"], 0)

    def test_code_that_was_generated_may_stand_at_the_beginning_of_a_mapping(self):
        report = self.findings(self.build(GENERATED_CODE), "--cap", "0")
        self.assertEqual((report["findings"], report["program"]["exit"]), ([], 0))

    def test_figures_2_and_3_regions_of_two_threads_that_overlap_and_that_do_not(self):
        program = self.build(FIGURES)
        report = self.findings(program, "--cap", "0", arguments=("2",))
        self.assertEqual([f["variable"]["name"] for f in report["findings"]], ["x"])
        for part in ("3a", "3b"):
            report = self.findings(program, "--cap", "0", arguments=(part,))
            self.assertEqual(report["findings"], [], part)
            self.assertGreater(report["statistics"]["points"], 1, part)
        # 3(b) is a race: the watch lane, which remembers the past, has it.
        self.call(os.path.join(BIN, "deadheat-c++"), "-O1", "-g", "-pthread", "program.cc", "-o", "watched")
        for part, races in (("3a", []), ("3b", ["x"])):
            self.call(os.path.join(BIN, "deadheat"), "run", "--json", "out.json", "--quiet", "--", "./watched", part, code=None)
            with open(self.path("out.json")) as file:
                self.assertEqual([f["variable"]["name"] for f in json.load(file)["findings"]], races, part)

    def test_a_monitor_may_start_in_one_function_and_end_in_another(self):
        report = self.findings(self.build(ACROSS), "--cap", "0", arguments=("unlocks",))
        self.assertEqual(report["findings"], [])
        self.assertGreater(report["statistics"]["stops"], 1000)
        self.assertTrue(self.findings(self.build(ACROSS), "--cap", "0")["findings"])

    def test_whatever_library_call_hands_a_turn_over_stops_monitors(self):
        program = self.build(HANDED_OVER, "-DROUNDS=400")
        for way, name in enumerate(("flock", "mkdir", "putc_unlocked", "fork")):
            report = self.findings(program, "--cap", "0", arguments=(str(way),))
            self.assertEqual(report["findings"], [], name)
            self.assertGreater(report["statistics"]["points"], 50, name)

    def test_call_backs_under_a_lock_that_nobody_sees(self):
        with open(self.path("library.cc"), "w") as file:
            file.write(LIBRARY)
        self.call("clang++-19", "-O2", "-shared", "-fPIC", "library.cc", "-o", "liblibrary.so")
        program = self.build(CALLED_BACK, "-O2", "liblibrary.so", "-Wl,-rpath,$ORIGIN")
        for how, name in enumerate(("longjmp", "qsort", "musttail", "an operator new that fails")):
            report = self.findings(program, "--cap", "0", arguments=(str(how),))
            self.assertEqual(report["findings"], [], name)
            self.assertGreater(report["statistics"]["points"], 1000, name)

    def test_an_access_that_is_never_made_is_never_told(self):
        program = self.build(NEVER_WRITTEN, "-O2")
        for how, name in enumerate(("cancelled", "jumped away", "the process ended")):
            report = self.findings(program, "--cap", "0", arguments=(str(how),))
            self.assertEqual(report["findings"], [], name)
            self.assertGreater(report["statistics"]["points"], 0, name)
        self.assertTrue(self.findings(program, "--cap", "0", arguments=("3",))["findings"], "made in the end")

    def test_a_loop_that_was_entered_with_the_gate_closed_is_monitored_when_it_opens(self):
        self.build(LONG_LOOP, "-O2")
        self.log_until_found("sample=50%")

    def test_a_process_with_one_thread_again_has_one_thread(self):
        program = self.build(ALONE_AGAIN)
        for options in ("", "budget=5%", "sample=1%"):
            self.assertIn("tasks 1", self.call(program, DEADHEAT_OPTIONS=options), options)
        plain = subprocess.run(["unshare", "-U", "true"], capture_output=True)
        if plain.returncode == 0:
            self.assertIn("unshare 0", self.call(program, "x", DEADHEAT_OPTIONS="budget=5%"))

    def test_run_prints_findings_while_the_program_runs(self):
        self.build(SERVER)
        process = subprocess.Popen([os.path.join(BIN, "deadheat"), "run", "--mode", "monitor", "--sample", "50%", "--", "./program"],
                                   cwd=self.folder.name, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        line = ""
        begun = time.time()
        while "data race on counter" not in line:
            self.assertLess(time.time() - begun, 60)
            line = process.stderr.readline()
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        process.wait(20)
        self.assertNotIn("data race on counter", rest)

    def test_a_free_of_what_another_thread_is_reading_is_a_race(self):
        program = self.build(FREED)
        operations = set()
        for _ in range(20):
            for finding in self.findings(program, "--cap", "0")["findings"]:
                operations.update((access["operation"], access["stack"][0]["function"].split("(")[0])
                                  for access in finding["accesses"])
            if operations:
                break
        self.assertEqual(operations, {("free", "drop"), ("read", "look")})

    def test_memory_that_the_allocator_hands_on_is_no_race(self):
        report = self.findings(self.build(RECYCLED), "--cap", "0")
        self.assertEqual(report["findings"], [])
        self.assertGreater(report["statistics"]["points"], 1000)

    def test_memory_that_the_programs_own_allocator_hands_on_is_no_race(self):
        with open(self.path("hidden.cc"), "w") as file:
            file.write(OWN_FREE)
        self.call("clang++-19", "-O2", "-fno-builtin", "-c", "hidden.cc", "-o", "hidden.o")
        report = self.findings(self.build(NEW_AND_DELETE, "hidden.o"), "--cap", "0")
        self.assertEqual(report["findings"], [])
        self.assertGreater(report["statistics"]["points"], 1000)

    def test_the_middle_of_a_strided_loop_is_monitored_and_the_gaps_are_not(self):
        for level in ("-O1", "-O2", "-O3"):
            program = self.build(STRIDED, level)
            # At one element after the walk began or before, walking as well with other steps, or with the same ones.
            for how in "efwr":
                for _ in range(3):  # a busy machine may keep the two from meeting
                    report = self.findings(program, "--cap", "0", arguments=(how + "s",))
                    if report["findings"]:
                        break
                finding, = report["findings"]
                self.assertEqual(finding["variable"]["name"], "items", (level, how))
                self.assertEqual({access["size"] for access in finding["accesses"]}, {2}, (level, how))
                self.assertGreater(report["statistics"]["strided"], 0)
                for _ in range(3):
                    report = self.findings(program, "--cap", "0", arguments=(how + "n",))
                    self.assertEqual(report["findings"], [], (level, how))

    def test_with_nothing_to_monitor_an_interposed_call_is_a_jump_to_the_library(self):
        names = ("pthread_mutex_unlock", "memcpy")
        for linker in ("bfd", "lld"):
            program = self.build(JUMPS_TO, "-O2", "-no-pie", "-fno-builtin", f"-fuse-ld={linker}")
            symbols = {line.split()[2]: line.split()[0] for line in self.call("llvm-nm-19", program).splitlines()
                       if len(line.split()) == 3}
            words = [word for name in names for word in (name, symbols["deadheat_jump_" + name])]
            self.assertEqual(self.call(program, *words), "".join(f"{name} 1\n" for name in names), linker)
            for name in names:
                text = self.call("llvm-objdump-19", "-d", "--no-show-raw-insn", f"--disassemble-symbols={name}", program)
                code = [line.split()[1] for line in text.splitlines() if line.startswith("  ") and ":" in line]
                self.assertEqual(len([one for one in code if one != "nop" and not one.startswith("nop")]), 3, text)

    def test_run_says_that_nothing_was_found_and_a_program_that_is_simply_run_does_not(self):
        program = self.build("int main() {}")
        run = (os.path.join(BIN, "deadheat"), "run", "--mode", "monitor")
        self.assertEqual(self.call(*run, "--", program), "deadheat: 0 findings\n")
        self.assertEqual(self.call(*run, "--quiet", "--", program), "")
        self.assertEqual(self.call(program), "")
        self.assertIn("run --mode monitor --budget 5% -- ", self.call(os.path.join(BIN, "deadheat"), "help", "run"))

    def test_each_variable_that_races_on_one_line_is_named(self):
        # As in the watch lane: one finding, and both of its variables.
        program = self.build(TWO_ON_A_LINE, "-DROUNDS=3000000")
        text = self.call(os.path.join(BIN, "deadheat"), "run", "--mode", "monitor", "--cap", "0", "--json", "out.json", "--",
                         program, code=66)
        with open(self.path("out.json")) as file:
            finding, = json.load(file)["findings"]
        self.assertEqual({v["name"] for v in finding["variables"]}, {"first", "second"})
        self.call(os.path.join(BIN, "deadheat-c++"), "-O1", "-g", "-pthread", "-DROUNDS=3000", "program.cc", "-o", "watched")
        self.call(os.path.join(BIN, "deadheat"), "run", "--json", "watched.json", "--quiet", "--", "./watched", code=66)
        with open(self.path("watched.json")) as file:
            watched, = json.load(file)["findings"]
        self.assertEqual(finding["fingerprint"], watched["fingerprint"])
        self.assertEqual({v["name"] for v in watched["variables"]}, {"first", "second"})
        for text in (text, self.call(program, code=66, DEADHEAT_OPTIONS="cap=0")):
            self.assertEqual(text.count("data race on "), 1, text)
            self.assertEqual(text.count("the same places race on "), 1, text)
            for name in ("first", "second"):
                self.assertIn(f"race on {name} (global, 8 bytes, program.cc:3)", text)
            self.assertEqual(text.count(f"[{finding['fingerprint']}]"), 2, text)

    def test_threads_that_are_too_many_to_be_monitored_are_spoken_of_once(self):
        program = self.build(MANY_THREADS)
        line = "threads beyond the first 2047 are not monitored"
        text = self.call(program, "2100", DEADHEAT_OPTIONS="sample=1%")
        self.assertEqual(text.count(line), 1, text)
        self.assertEqual(self.findings(program, arguments=("2100",))["statistics"]["unmonitored_threads"], 2101 - 2047)
        self.assertEqual(self.call(program, "2046"), "")

    def test_one_thread_alone_starts_nothing(self):
        report = self.findings(self.build("long x[9]; int main() { for (volatile int i = 0; i < 9; i = i + 1) x[i]++; }"))
        self.assertEqual(report["statistics"]["monitor_starts"], 0)


if __name__ == "__main__":
    unittest.main()
