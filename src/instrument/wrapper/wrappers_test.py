#!/usr/bin/env python3
"""deadheat-cc and deadheat-c++ as users call them: every way of compiling and linking finds the same race.

usage: wrappers_test.py BIN_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
CC, CXX, DEADHEAT = BIN / "deadheat-cc", BIN / "deadheat-c++", BIN / "deadheat"

RACE_C = """\
#include <pthread.h>
#include <stdatomic.h>
int counter;
_Atomic int turns;
static void *work(void *unused) {
  for (int i = 0; i < 10; ++i) {
    counter = counter + i;  /* line 7 */
    atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
  }
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""

NORACE_C = RACE_C.replace("counter = counter + i;", "atomic_fetch_add(&turns, i);")

RACE_CXX = """\
#include <thread>
#include <vector>
struct Account { virtual ~Account() = default; std::vector<int> balance = {0}; };
int main() {
  Account account;
  auto deposit = [&account] {
    account.balance[0] += 10;  // line 7
  };
  std::jthread a(deposit), b(deposit);
}
"""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **more)


class Wrappers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="deadheat-wrappers-")))
        for name, text in (("race.c", RACE_C), ("norace.c", NORACE_C), ("race.cc", RACE_CXX)):
            (self.folder / name).write_text(text)

    def build(self, *arguments, compiler=CC, **more):
        done = run(compiler, *arguments, cwd=self.folder, **more)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done

    def report_of(self, program="a.out"):
        done = run(DEADHEAT, "run", "--no-color", "--", self.folder / program, cwd=self.folder)
        return done.returncode, done.stderr

    def assert_race(self, *arguments, compiler=CC, source="race.c", lines=True):
        self.build(*arguments, source, "-o", "a.out", "-pthread", compiler=compiler)
        code, report = self.report_of()
        self.assertEqual(code, 66, f"{arguments}: {report}")
        if lines:
            self.assertIn(f"{source}:7", report, f"{arguments}")

    def test_every_level_of_optimisation_finds_it_at_its_line(self):
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
            with self.subTest(level):
                self.assert_race("-std=c11", level)

    def test_cxx20(self):
        for flags in (["-O0"], ["-O2", "-g"]):
            with self.subTest(flags):
                self.assert_race("-std=c++20", *flags, compiler=CXX, source="race.cc")

    def test_debug_information_is_the_users_choice(self):
        self.assert_race("-O1", "-g")
        self.assert_race("-O1", "-g0", lines=False)

    def test_link_time_optimisation(self):
        for flags in (["-flto"], ["-flto=thin"]):
            with self.subTest(flags):
                self.assert_race("-O2", *flags)

    def test_every_kind_of_executable(self):
        for flags in (["-no-pie", "-fno-pie"], ["-static"], ["-static-pie", "-fPIE"], ["-fuse-ld=lld"]):
            with self.subTest(flags):
                self.assert_race("-O1", *flags)

    def test_libraries_that_the_user_names(self):
        # As little as the program itself needs: the runtime needs no more.
        for flags in (["-nodefaultlibs", "-lc"], ["-nodefaultlibs", "-lc", "-fuse-ld=lld"],
                      ["-static", "-lgcc"], ["-nodefaultlibs", "-static", "-Wl,--start-group", "-lgcc", "-lgcc_eh", "-lc", "-Wl,--end-group"]):
            with self.subTest(flags):
                self.build("race.c", "-o", "a.out", *flags)
                self.assertEqual(self.report_of()[0], 66)
        self.build("race.c", "-nostdlib", "-r", "-o", "r.o")
        self.build("r.o", "-o", "a.out")
        self.assertEqual(self.report_of()[0], 66)

    def test_of_locals_that_have_one_place_the_one_that_is_meant_is_named(self):
        (self.folder / "slots.c").write_text(
            """\
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int turn;
static pthread_t other, later;
static void await_turn(int n) {
  while (atomic_load_explicit(&turn, memory_order_relaxed) < n) usleep(100);
}
static void step(void) { atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed); }
static void *add(void *at) {
  await_turn(1);
  ((long *)at)[2]++;
  step();
  return 0;
}
// After the scope.
static void *add_late(void *at) {
  await_turn(3);
  ((long *)at)[2]++;
  step();
  return 0;
}
static void *add_later(void *at) {
  await_turn(4);
  ((long *)at)[2]++;
  return 0;
}
static long *volatile known;
__attribute__((noinline)) static void use(long *at) { (known = at)[5]++; }
int main(void) {
  {
    long first_one[6] = {0};
    use(first_one);
  }
  for (int i = 0; i < 2; i++) {
    long second_one[6] = {0};
    use(second_one);
  }
  {
    long third_one[6] = {0};
    use(third_one);
    pthread_create(&other, 0, add, third_one);
    third_one[2]++;
    step();
    pthread_join(other, 0);
  }
  {
    long outlived[60] = {0};
    use(outlived);
    pthread_create(&other, 0, add_late, outlived + 30);
    pthread_create(&later, 0, add_later, outlived + 30);
  }
  step();
  pthread_join(other, 0);
  pthread_join(later, 0);
  return 0;
}
"""
        )
        for level in ("-O0", "-O1", "-O2", "-O3"):
            with self.subTest(level):
                self.build(level, "-g", "slots.c", "-o", "a.out", "-pthread")
                code, report = self.report_of()
                self.assertEqual(code, 66, report)
                self.assertIn("data race on third_one", report)
                self.assertIn("data race on outlived", report)
                self.assertNotIn("data race on first_one", report)
                self.assertNotIn("data race on second_one", report)

    def test_every_switch_off_finds_the_same(self):
        self.assert_race("-O2", "--deadheat-opt=-all,+inline")
        for switch in ("escape", "readwrite", "dominated", "neighbours", "loops", "syncfree", "scopes", "inline", "direct"):
            with self.subTest(switch):
                self.assert_race("-O2", f"--deadheat-opt=-{switch}", lines=switch != "inline")

    def test_no_race_no_report(self):
        for level in ("-O0", "-O2"):
            self.build(level, "norace.c", "-o", "a.out", "-pthread")
            self.assertEqual(self.report_of(), (0, "deadheat: 0 findings\n"))

    def test_compiling_and_linking_apart(self):
        self.build("-c", "race.c", "-O1")
        self.build("race.o", "-o", "a.out", "-pthread")
        self.assertEqual(self.report_of()[0], 66)

    def test_a_library_of_code_that_was_not_asked_to_be_fit_for_one(self):
        (self.folder / "lib.c").write_text("void touch(int* at) {\n  ++*at;\n}\n")
        self.build("-O1", "-shared", "lib.c", "-o", "lib.so")

    def test_a_race_in_a_library_loaded_late(self):
        (self.folder / "lib.c").write_text("int shared;\nvoid touch(int v) {\n  shared = v;\n}\n")
        (self.folder / "main.c").write_text(
            """\
#include <dlfcn.h>
#include <pthread.h>
void (*touch)(int);
static void *work(void *v) { touch((int)(long)v); return 0; }
int main(void) {
  void *library = dlopen("./lib.so", RTLD_NOW);
  if (!library) return 3;
  touch = (void (*)(int))dlsym(library, "touch");
  pthread_t a, b;
  pthread_create(&a, 0, work, (void *)1);
  pthread_create(&b, 0, work, (void *)2);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""
        )
        self.build("-shared", "-fPIC", "-O2", "lib.c", "-o", "lib.so")
        self.build("-O2", "main.c", "-o", "a.out", "-pthread", "-ldl")
        code, report = self.report_of()
        self.assertEqual(code, 66, report)
        self.assertIn("lib.c:3", report)

    def test_a_library_with_names_of_libcs(self):
        # ISO C leaves these names to programs. Called as libc's, most of them crash.
        (self.folder / "lib.c").write_text(
            """\
double index(double x, double y) { return x * y; }
int send(int a) { return a + 1; }
const char *link(void) { return "mine"; }
int wait(int p, int q) { return p + q; }
struct s { long a[4]; };
struct s select(struct s x, int y) { x.a[0] += y; return x; }
int poll(const char *what) { return what[0]; }
int calls_its_own(void) { return send(1) + wait(2, 3); }
"""
        )
        (self.folder / "main.c").write_text(
            """\
#include <pthread.h>
double index(double, double);
int send(int);
const char *link(void);
int wait(int, int);
struct s { long a[4]; };
struct s select(struct s, int);
int poll(const char *);
int calls_its_own(void);
int counter;
static void *work(void *unused) { ++counter; return unused; }
int main(int count, char **arguments) {
  struct s q = {{1, 2, 3, 4}};
  if (index(1.5, 2) != 3 || send(3) != 4 || link()[0] != 'm' || wait(4, 5) != 9 || select(q, 6).a[0] != 7) return 1;
  if (select(q, 6).a[3] != 4 || poll("A") != 'A' || calls_its_own() != 7) return 2;
  if (count == 1) return 0;
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""
        )
        flags = ["-fno-builtin", "-w", "-pthread"]
        rpath = "-Wl,-rpath," + str(self.folder)
        (self.folder / "libnames.so").write_text("/* a script */ INPUT ( libnames.so.1 )\n")
        for mode in ("record", "monitor", "watch"):
            self.build(f"--deadheat-mode={mode}", *flags, "-shared", "-fPIC", "lib.c", "-o", "libnames.so.1",
                       "-Wl,-soname,libnames.so.1")
            for named in (["-L.", "-lnames"], ["-L", ".", "-l", "names"], ["./libnames.so.1"], ["-Wl,-L.,-lnames"],
                          ["-L.", "-l:libnames.so.1"], ["-L.", "-lnames", "-fuse-ld=lld"], ["-L.", "-lnames", "-flto"]):
                with self.subTest(mode=mode, named=named):
                    self.build(f"--deadheat-mode={mode}", *flags, "main.c", *named, rpath, "-o", "a.out")
                    self.assertEqual(run(self.folder / "a.out").returncode, 0)
        # The rest is interposed as ever.
        done = run(DEADHEAT, "run", "--", self.folder / "a.out", "with threads", cwd=self.folder)
        self.assertEqual(done.returncode, 66, done.stderr)

    def test_a_library_with_an_allocator_does_not_hide_blocks(self):
        # What means the same whoever defines it stays interposed.
        (self.folder / "lib.c").write_text(
            "void *__libc_malloc(unsigned long);\nvoid *malloc(unsigned long n) { return __libc_malloc(n); }\n")
        self.build("-shared", "-fPIC", "lib.c", "-o", "liballoc.so", "--deadheat-mode=off")
        (self.folder / "main.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(3)); return 0; }\n")
        self.build("main.c", "./liballoc.so", "-o", "a.out")
        self.assertRegex(run("nm", self.folder / "a.out").stdout, r" W malloc\n")

    def test_functions_that_opt_out_are_left_alone(self):
        text = RACE_C.replace("static void *work", '__attribute__((no_sanitize("thread"))) static void *work')
        (self.folder / "race.c").write_text(text)
        for level in ("-O0", "-O2"):
            self.build(level, "race.c", "-o", "a.out", "-pthread")
            self.assertEqual(self.report_of()[0], 0)

    def test_loads_that_only_the_optimiser_would_make_are_not_reported(self):
        # Without the mark on functions, -O2 reads `guarded` whether or not `enabled`, and a checker would call that a race.
        (self.folder / "guard.c").write_text(
            """\
#include <pthread.h>
int guarded;
static __thread int result;
__attribute__((noinline)) static void keep(int value) { result = value; }
static void *work(void *enabled) {
  for (int i = 0; i < 100; ++i) {
    int value = i;
    if (enabled) value = guarded;
    keep(value);
  }
  return 0;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, work, 0);
  for (int i = 0; i < 100; ++i) guarded = i;
  pthread_join(a, 0);
  return 0;
}
"""
        )
        self.build("-O2", "guard.c", "-o", "a.out", "-pthread")
        self.assertEqual(self.report_of(), (0, "deadheat: 0 findings\n"))

    def test_gaps_between_elements_are_not_read(self):
        # The vectoriser would read both members and keep one.
        (self.folder / "gap.c").write_text(
            """\
#include <pthread.h>
struct { int read, written; } table[4096];
long sum;
static void *work(void *unused) {
  for (int i = 0; i < 4096; ++i) sum += table[i].read;
  return unused;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, work, 0);
  for (int i = 0; i < 4096; ++i) table[i].written = i;
  pthread_join(a, 0);
  return 0;
}
"""
        )
        for level in ("-O2", "-O3"):
            self.build(level, "gap.c", "-o", "a.out", "-pthread")
            self.assertEqual(self.report_of(), (0, "deadheat: 0 findings\n"))

    def test_assembler_and_several_sources_in_one_go(self):
        (self.folder / "extra.s").write_text(".globl extra\nextra: ret\n.section .note.GNU-stack,\"\",@progbits\n")
        self.assert_race("-Wall", "-Werror", "extra.s")

    def test_no_warning_is_added(self):
        (self.folder / "empty.c").write_text("int main(void) { return 0; }\n")
        for arguments in (["-c", "empty.c"], ["empty.c", "-o", "e"], ["-E", "empty.c", "-o", "e.i"], ["-S", "empty.c"]):
            self.assertEqual(self.build("-Wall", "-Wextra", "-Werror", *arguments).stderr, "")
        (self.folder / "sub").mkdir()
        (self.folder / "sub/empty.c").write_text("int main(void) { return 0; }\n")
        self.assertEqual(self.build("-save-temps=obj", "sub/empty.c", "-o", "e").stderr, "")
        self.build("-c", "empty.c")
        self.assertEqual(self.build("-Werror", "empty.o", "-o", "e").stderr, "")

    def test_the_note_tells_an_instrumented_file(self):
        self.build("-c", "race.c")
        self.assertIn("Deadheat", run("readelf", "-n", self.folder / "race.o").stdout)
        self.build("-c", "race.c", "--deadheat-mode=off")
        self.assertNotIn("Deadheat", run("readelf", "-n", self.folder / "race.o").stdout)

    def test_statistics_are_one_line_per_module(self):
        done = self.build("-O2", "-c", "race.c", "--deadheat-stats")
        self.assertRegex(done.stderr, r"^deadheat: race\.c: functions=2 .*checks=\d+ .*\n$")

    def test_cmake_takes_the_wrapper_as_its_compiler(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nfind_package(Threads REQUIRED)\n"
            "add_executable(p race.c)\ntarget_link_libraries(p Threads::Threads)\n"
        )
        done = run("cmake", "-G", "Unix Makefiles", "-S", self.folder, "-B", self.folder / "b",
                   env={**os.environ, "CC": str(CC)})
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("cmake", "--build", self.folder / "b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.report_of("b/p")[0], 66)


class FakeClang(unittest.TestCase):
    """What reaches the compiler, without one."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="deadheat-wrappers-")))
        self.clang = self.folder / "fake-clang"
        self.clang.write_text('#!/bin/sh\necho "options: $DEADHEAT_PLUGIN_OPTIONS"\nprintf "%s\\n" "$@"\nexit 7\n')
        self.clang.chmod(0o755)
        self.environment = {**os.environ, "DEADHEAT_CLANG": str(self.clang)}

    def test_arguments_arrive_and_the_exit_code_comes_back(self):
        done = run(CXX, "-c", "a b.cc", "-DX=\"1 2\"", env=self.environment)
        self.assertEqual(done.returncode, 7)
        words = done.stdout.splitlines()
        self.assertIn("options: mode=watch,marked", words)
        self.assertIn("--driver-mode=g++", words)
        self.assertIn("a b.cc", words)
        self.assertIn('-DX="1 2"', words)

    def test_mode_off_by_variable(self):
        done = run(CC, "-c", "a.c", env={**self.environment, "DEADHEAT_MODE": "off"})
        self.assertEqual(done.stdout.splitlines()[1:], ["-c", "a.c"])

    def test_a_missing_compiler_is_one_line(self):
        done = run(CC, "-c", "a.c", env={**self.environment, "DEADHEAT_CLANG": "/nonexistent/clang"})
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "deadheat-cc: DEADHEAT_CLANG=/nonexistent/clang: expected an executable, found none\n")
        done = run(CC, "-c", "a.c", env={**self.environment, "DEADHEAT_CLANG": "no-such-clang"})
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_wrong_usage_is_one_line(self):
        done = run(CC, "--deadheat-mode=fast", "a.c", env=self.environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "deadheat-cc: unknown mode 'fast': expected watch, monitor, record or off\n")


if __name__ == "__main__":
    unittest.main()
