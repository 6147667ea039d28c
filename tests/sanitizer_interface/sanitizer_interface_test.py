#!/usr/bin/env python3
"""The sanitizers' common interface, which programs use where __has_feature(thread_sanitizer) is true: everything that the
compiler's public headers declare and ThreadSanitizer's runtime defines links, in every lane, and does what it should."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build").resolve()
CC, CXX, DEADHEAT = (BUILD / "bin" / name for name in ("deadheat-cc", "deadheat-c++", "deadheat"))
LANES = [lane for lane in ("watch", "monitor", "record") if (BUILD / f"lib/deadheat/libdeadheat_{lane}.a").exists()]
CLANG = os.environ.get("DEADHEAT_CLANG", "clang-19")

HEADERS = ["common_interface_defs.h", "tsan_interface.h", "tsan_interface_atomic.h", "allocator_interface.h",
           "linux_syscall_hooks.h"]
INCLUDES = "".join(f"#include <sanitizer/{header}>\n" for header in HEADERS)

# Two threads; A does its part before B, which the program knows and no detector sees.
THREADS = INCLUDES + """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int turn[2];
__attribute__((constructor)) static void open_turn(void) { if (pipe(turn)) _exit(3); }
/* Raw, so that it orders nothing for anybody. */
static void done(void) { long r; char c = 0; __asm__ volatile("syscall" : "=a"(r) : "0"(1), "D"(turn[1]), "S"(&c), "d"(1) : "rcx", "r11", "memory"); }
static void after(void) { long r; char c; __asm__ volatile("syscall" : "=a"(r) : "0"(0), "D"(turn[0]), "S"(&c), "d"(1) : "rcx", "r11", "memory"); }
char bytes[16] __attribute__((aligned(16)));
int data;
__tsan_atomic32 flag;
__tsan_atomic128 wide;
static void first(void);
static void second(void);
static void *a(void *p) { first(); done(); return p; }
static void *b(void *p) { after(); second(); return p; }
int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, a, 0);
  pthread_create(&y, 0, b, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
  return 0;
}
"""

# What they do, and is it a race?
PAIRS = {
    "misaligned accesses that overlap": (
        "__sanitizer_unaligned_store32(bytes + 5, 7);", "bytes[0] = (char)__sanitizer_unaligned_load16(bytes + 8);", True),
    "misaligned accesses side by side": (
        "__sanitizer_unaligned_store32(bytes + 5, 7);", "bytes[0] = (char)__sanitizer_unaligned_load16(bytes + 9);", False),
    "misaligned accesses through a pointer": (
        "void (*volatile store)(void *, uint64_t) = __sanitizer_unaligned_store64; store(bytes + 1, 7);",
        "bytes[8] = 1;", True),
    "a release and an acquire": (
        "data = 1; __tsan_atomic32_store(&flag, 1, __tsan_memory_order_release);",
        "if (__tsan_atomic32_load(&flag, __tsan_memory_order_acquire)) data = 2;", False),
    "a release and a relaxed load": (
        "data = 1; __tsan_atomic32_store(&flag, 1, __tsan_memory_order_release);",
        "if (__tsan_atomic32_load(&flag, __tsan_memory_order_relaxed)) data = 2;", True),
    "the same by orders that the compiler does not know": (
        "volatile __tsan_memory_order o = __tsan_memory_order_release; data = 1; __tsan_atomic32_store(&flag, 1, o);",
        "volatile __tsan_memory_order o = __tsan_memory_order_acquire; if (__tsan_atomic32_load(&flag, o)) data = 2;",
        False),
    "and a relaxed one": (
        "volatile __tsan_memory_order o = __tsan_memory_order_release; data = 1; __tsan_atomic32_store(&flag, 1, o);",
        "volatile __tsan_memory_order o = __tsan_memory_order_relaxed; if (__tsan_atomic32_load(&flag, o)) data = 2;",
        True),
    "compare-exchanges": (
        "int was = 0; data = 1; __tsan_atomic32_compare_exchange_strong(&flag, &was, 1, __tsan_memory_order_release,"
        " __tsan_memory_order_relaxed);",
        "int was = 1; if (__tsan_atomic32_compare_exchange_weak(&flag, &was, 2, __tsan_memory_order_acquire,"
        " __tsan_memory_order_relaxed)) data = 2;", False),
    "atomics of 16 bytes": (
        "data = 1; __tsan_atomic128_fetch_add(&wide, 1, __tsan_memory_order_acq_rel);",
        "if (__tsan_atomic128_fetch_nand(&wide, 0, __tsan_memory_order_acq_rel)) data = 2;", False),
    "an atomic and a plain access": (
        "__tsan_atomic32_store(&flag, 1, __tsan_memory_order_relaxed);", "flag = 2;", True),
    "fences": (
        "data = 1; __tsan_atomic_thread_fence(__tsan_memory_order_release);"
        " __tsan_atomic32_store(&flag, 1, __tsan_memory_order_relaxed);",
        "if (__tsan_atomic32_load(&flag, __tsan_memory_order_relaxed))"
        " __tsan_atomic_thread_fence(__tsan_memory_order_acquire), data = 2;", False),
}

# System calls made by hand and told of: the bytes, and what they order.
CALLS = INCLUDES.replace("#include", "#define _GNU_SOURCE\n#include", 1) + """
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
int ends[2], data;
char buffer[8];
static void *work(void *p) {
  data = 1;
  __sanitizer_syscall_pre_write(ends[1], buffer, 4);
  long r = syscall(SYS_write, ends[1], buffer, 4);
  __sanitizer_syscall_post_write(r, ends[1], buffer, 4);
  return p;
}
int main(void) {
  pthread_t t;
  __sanitizer_syscall_pre_pipe(ends);
  long r = syscall(SYS_pipe, ends);
  __sanitizer_syscall_post_pipe(r, ends);
  pthread_create(&t, 0, work, 0);
#ifdef RACE
  buffer[3] = 1;
#endif
  char got[4];
  __sanitizer_syscall_pre_read(ends[0], got, 4);
  r = syscall(SYS_read, ends[0], got, 4);
  __sanitizer_syscall_post_read(r, ends[0], got, 4);
  data = got[0];
  __sanitizer_syscall_pre_close(ends[0]);
  r = syscall(SYS_close, ends[0]);
  __sanitizer_syscall_post_close(r, ends[0]);
  pthread_join(t, 0);
  return 0;
}
"""

VALUES = INCLUDES + r"""
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void dies(void) { _exit(9); }
__attribute__((noinline)) int check_atomics(void) {
  __tsan_atomic16 v = 5, was = 4;
  assert(__tsan_atomic16_exchange(&v, 6, __tsan_memory_order_seq_cst) == 5);
  assert(!__tsan_atomic16_compare_exchange_strong(&v, &was, 9, __tsan_memory_order_seq_cst, __tsan_memory_order_relaxed));
  assert(was == 6 && v == 6);
  assert(__tsan_atomic16_compare_exchange_val(&v, 6, -3, __tsan_memory_order_seq_cst, __tsan_memory_order_seq_cst) == 6);
  assert(__tsan_atomic16_fetch_xor(&v, 1, __tsan_memory_order_relaxed) == -3);
  return v;
}
int main(void) {
  assert(check_atomics() == (-3 ^ 1));
  char bytes[16];
  __sanitizer_unaligned_store64(bytes + 1, 0x1122334455667788);
  assert(__sanitizer_unaligned_load64(bytes + 1) == 0x1122334455667788);
  assert(__sanitizer_unaligned_load16(bytes + 3) == 0x5566);
  int copies[2];
  __sanitizer_syscall_pre_pipe(copies);
  __sanitizer_syscall_post_close(0, 3);
  __sanitizer_set_death_callback(dies);
  __sanitizer_print_stack_trace();
  assert(__sanitizer_acquire_crash_state() == 1 && __sanitizer_acquire_crash_state() == 0);
  char text[256];
  memset(text, 'x', sizeof text);
  __sanitizer_symbolize_pc((void *)(unsigned long)main, "at %p", text, sizeof text);
  assert(!strncmp(text, "at 0x", 5) && text[strlen(text) + 1] == 0);
  memset(text, 'x', sizeof text);
  __sanitizer_symbolize_pc((void *)(unsigned long)main, "%p %F %L", text, 4);
  assert(!strcmp(text, "0x") && text[3] == 0 && text[4] == 'x');
  void *block = malloc(40);
  assert(__sanitizer_get_estimated_allocated_size(40) >= 40);
  assert(__sanitizer_get_current_allocated_bytes() >= 40);
#ifdef KNOWS_BLOCKS
  assert(__sanitizer_get_ownership(block) && !__sanitizer_get_ownership((char *)block + 8));
  assert(__sanitizer_get_allocated_size(block) == 40);
  assert(__sanitizer_get_allocated_begin((char *)block + 8) == block);
#endif
  free(block);
  assert(!__sanitizer_get_ownership(block));
  assert(!__tsan_get_current_report());
  return 0;
}
"""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **more)


class SanitizerInterface(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="deadheat-sanitizer-")))

    def build(self, lane, text, *words, compiler=CC, output="a.out", name="a.c"):
        (self.folder / name).write_text(text)
        done = run(compiler, f"--deadheat-mode={lane}", "-pthread", *words, name, "-o", output, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{lane} {words}: {done.stderr[:2000]}")

    def declared_and_defined(self):
        (self.folder / "all.c").write_text(INCLUDES)
        headers = run(CLANG, "-E", "-P", self.folder / "all.c").stdout
        declared = set(re.findall(r"\b(?:__sanitizer|__tsan)_\w+(?=\s*\()", headers))
        resources = pathlib.Path(run(CLANG, "-print-resource-dir").stdout.strip())
        runtime = run("nm", "--defined-only", resources / "lib/linux/libclang_rt.tsan-x86_64.a").stdout
        return sorted(declared & {line.split()[-1] for line in runtime.splitlines() if len(line.split()) == 3})

    def test_everything_that_the_headers_declare_links(self):
        names = self.declared_and_defined()
        self.assertGreater(len(names), 700)
        # Taking all addresses by hand: a header may declare as a function what it also defines as a macro.
        table = INCLUDES + "void *volatile all[] = {\n" + "".join(f"  (void *)(unsigned long)&{name},\n" for name in names) + "};\n"
        program = "int main(void) { for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) if (!all[i]) return 1; return 0; }\n"
        table = table.replace("(void *)(unsigned long)&", "&")
        for lane in LANES:
            for words in (["-O0"], ["-static"], ["-flto", "-O1"]):
                with self.subTest(lane=lane, words=words):
                    self.build(lane, table + program, *words, "-Wno-incompatible-pointer-types")
                    self.assertEqual(run(self.folder / "a.out").returncode, 0)
            with self.subTest(lane=lane, words="shared"):
                self.build(lane, table + "void use(void) { (void)all[0]; }\n", "-shared", "-fPIC", output="liball.so", name="l.c")
                exported = run("nm", "-D", "--defined-only", self.folder / "liball.so").stdout
                self.assertNotRegex(exported, "__sanitizer_|__tsan_atomic")
                self.build(lane, "void use(void); int main(void) { use(); return 0; }\n", "-Wl,-rpath," + str(self.folder),
                           str(self.folder / "liball.so"))
                self.assertEqual(run(self.folder / "a.out").returncode, 0)

    def test_they_do_what_they_say(self):
        for lane in LANES:
            for words in (["-O0"], ["-O2"], ["-static"]):
                with self.subTest(lane=lane, words=words):
                    self.build(lane, VALUES, *words, *(["-DKNOWS_BLOCKS"] if lane == "watch" else []))
                    done = run(self.folder / "a.out")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("#0 0x", done.stderr)

    def report_of(self, first, second, *words):
        self.build("watch", THREADS + f"static void first(void) {{\n{first}\n}}\nstatic void second(void) {{\n{second}\n}}\n", *words)
        done = run(DEADHEAT, "run", "--no-color", "--", self.folder / "a.out", cwd=self.folder)
        return done.returncode, done.stderr

    def test_what_accesses_or_orders_memory_is_seen(self):
        for name, (first, second, races) in PAIRS.items():
            for words in (["-O0"], ["-O2"], ["-O1", "-static"]):
                with self.subTest(name, words=words):
                    code, report = self.report_of(first, second, *words)
                    self.assertEqual(code, 66 if races else 0, report)

    def test_system_calls_that_are_told_of(self):
        for words in (["-O0"], ["-O2"], ["-static"]):
            for flags, code in ([], 0), (["-DRACE"], 66):
                with self.subTest(words=words, flags=flags):
                    self.build("watch", CALLS, *words, *flags)
                    done = run(DEADHEAT, "run", "--no-color", "--", self.folder / "a.out", cwd=self.folder)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertNotIn("system_calls.c", done.stderr)

    def test_what_is_called_directly_is_reported_at_its_line(self):
        for level in ("-O0", "-O2"):
            first, second, _ = PAIRS["misaligned accesses that overlap"]
            code, report = self.report_of(first, second, level)
            self.assertEqual(code, 66)
            self.assertNotIn("unaligned.c", report)

    def test_in_cxx_where_calls_may_throw(self):
        text = INCLUDES + """
#include <string>
int count(int n) {
  std::string text(n, 'x');
  __tsan_atomic32 v = n;
  return __tsan_atomic32_fetch_add(&v, 1, __tsan_memory_order_seq_cst) + (int)text.size() + __sanitizer_unaligned_load16(&text[1]) * 0 + v;
}
int main() { return count(30) == 91 ? 0 : 1; }
"""
        for lane in LANES:
            for level in ("-O0", "-O2"):
                self.build(lane, text, level, compiler=CXX, name="a.cc")
                self.assertEqual(run(self.folder / "a.out").returncode, 0)

    def test_functions_of_the_programs_own_win(self):
        text = INCLUDES + """
#include <stdlib.h>
const char *__tsan_default_options(void) { return "mine"; }
void __sanitizer_report_error_summary(const char *text) { exit(text[0] == 'x' ? 0 : 2); }
int main(void) {
  __sanitizer_set_death_callback(0);
  if (__tsan_default_options()[0] != 'm') return 3;
  __sanitizer_report_error_summary("x");
  return 4;
}
"""
        for lane in LANES:
            self.build(lane, text)
            self.assertEqual(run(self.folder / "a.out").returncode, 0)

    def test_a_program_that_uses_nothing_of_it_has_nothing_of_it(self):
        self.build("watch", "int main(void) { return 0; }\n")
        self.assertNotRegex(run("nm", self.folder / "a.out").stdout, "__sanitizer_(print|syscall|unaligned)|__tsan_atomic")


if __name__ == "__main__":
    unittest.main()
