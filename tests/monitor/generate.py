"""Random programs without a race, as C++ text: what the monitor lane must be silent about.

A file holds many programs. A program is two to four threads that go through the same sections, one after the other, with
no order between sections. A section is one way to synchronise (a mutex, a spin lock of atomics, turns by release and
acquire or by fences, a queue with a condition variable, barriers, semaphores, a pool, memory that goes from thread to
thread, ...) around random accesses to the section's own data, in random shapes: branches, loops over arrays, helper
functions inlined or not, early returns, exceptions, copies.
"""

import random

PROLOGUE = r"""
#include <pthread.h>
#include <semaphore.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>
#define OUT __attribute__((noinline))
struct Pool {
  std::mutex mutex;
  std::condition_variable more;
  std::deque<std::packaged_task<long()>> tasks;
  bool done = false;
  void work() {
    for (;;) {
      std::packaged_task<long()> task;
      {
        std::unique_lock lock(mutex);
        more.wait(lock, [&] { return done || !tasks.empty(); });
        if (tasks.empty()) return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      task();
    }
  }
  std::future<long> add(std::packaged_task<long()> task) {
    std::future<long> result = task.get_future();
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    more.notify_one();
    return result;
  }
};
"""


class Writer:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.count = 0

    def unique(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def add(self, text):
        self.lines.append(text)

    # --- Accesses to `long d[N]`, which this thread owns (may_write) or shares with readers.

    def helper(self, may_write):
        """A function that touches what it is given."""
        name = self.unique("help")
        attribute = self.rng.choice(["OUT ", "", "inline "])
        body = self.accesses("p", 4, may_write, 1)
        qualifier = "" if may_write else "const "
        early = self.rng.choice(["", "  if (n < 0) return 0;\n", "  if (p[0] == 12345) return 1;\n"])
        self.add(f"static {attribute}long {name}({qualifier}long* p, long n) {{\n  long s = n;\n{early}{body}  return s;\n}}")
        return name

    def accesses(self, d, size, may_write, depth):
        rng = self.rng
        text = ""
        for _ in range(rng.randint(1, 3)):
            i, j = rng.randrange(size), rng.randrange(size)
            kinds = ["read", "branch", "loop", "both"]
            if may_write:
                kinds += ["write", "write", "bump", "fill", "copy", "branch_write", "loop_write"]
            if depth < 2:
                kinds += ["nest"]
            kind = rng.choice(kinds)
            if kind == "read":
                text += f"  s += {d}[{i}];\n"
            elif kind == "branch":
                text += f"  if (s & {rng.choice([1, 2, 4])}) s += {d}[{i}]; else s ^= {d}[{j}];\n"
            elif kind == "both":
                text += f"  s += (s & 1) ? {d}[{i}] : {d}[{j}];\n"
            elif kind == "loop":
                text += f"  for (int i = 0; i < {rng.randint(1, size)}; ++i) s += {d}[i];\n"
            elif kind == "write":
                text += f"  {d}[{i}] = s + {j};\n"
            elif kind == "bump":
                text += f"  {d}[{i}]++;\n"
            elif kind == "fill":
                text += f"  memset({d}, {rng.randrange(3)}, sizeof(long) * {rng.randint(1, size)});\n"
            elif kind == "copy":
                half = max(1, size // 2)
                text += f"  memcpy({d}, {d} + {size - half}, sizeof(long) * {min(half, size - half) or 0});\n"
            elif kind == "branch_write":
                text += f"  if (s & 1) {{ {d}[{i}] = 1; s += 3; }} else {d}[{i}] += s;\n"
            elif kind == "loop_write":
                text += f"  for (long i = 0; i < {rng.randint(1, size)}; ++i) {d}[i] += s ^ i;\n"
            elif kind == "nest":
                text += "  {\n" + self.accesses(d, size, may_write, depth + 1) + "  }\n"
        return text

    def use(self, d, size, may_write):
        """Accesses in a thread's body, by itself or through a helper."""
        if size >= 4 and self.rng.random() < 0.4:
            name = self.helper(may_write)
            return f"  s += {name}({d} + {self.rng.randrange(size - 3)}, s);\n"
        return self.accesses(d, size, may_write, 0)

    # --- Sections. Each returns (setup of main, body of thread `me` of `kThreads`, teardown of main).

    def data(self):
        name, size = self.unique("data"), self.rng.choice([1, 2, 4, 8, 40])
        self.add(f"static long {name}[{size}];")
        return name, size

    def section_mutex(self, rounds):
        d, size = self.data()
        m = self.unique("m")
        kind = self.rng.choice(["std::mutex", "std::recursive_mutex", "pthread"])
        if kind == "pthread":
            self.add(f"static pthread_mutex_t {m} = PTHREAD_MUTEX_INITIALIZER;")
            take = self.rng.choice([f"pthread_mutex_lock(&{m});", f"while (pthread_mutex_trylock(&{m}) != 0) sched_yield();"])
            give = f"pthread_mutex_unlock(&{m});"
        else:
            self.add(f"static {kind} {m};")
            take, give = f"{m}.lock();", f"{m}.unlock();"
        nested = kind == "std::recursive_mutex" and self.rng.random() < 0.5
        inner = self.use(d, size, True)
        if nested:
            inner += f"  {take}\n{self.use(d, size, True)}  {give}\n{self.use(d, size, True)}"
        throws = self.rng.random() < 0.3
        if throws and kind != "pthread":
            name = self.unique("thrower")
            self.add(f"static OUT long {name}(long s) {{\n  std::lock_guard<{kind}> lock({m});\n{self.use(d, size, True)}"
                     f"  if (s & 1) throw std::runtime_error(\"odd\");\n{self.use(d, size, True)}  return s;\n}}")
            return "", (f"for (int r = 0; r < {rounds}; ++r) {{\n  try {{ s += {name}(s); }} catch (const std::exception&) "
                        f"{{ s += 1; }}\n}}\n"), ""
        return "", f"for (int r = 0; r < {rounds}; ++r) {{\n  {take}\n{inner}  {give}\n}}\n", ""

    def section_spin(self, rounds):
        d, size = self.data()
        lock = self.unique("spin")
        kind = self.rng.choice(["flag", "cas", "ticket"])
        if kind == "flag":
            self.add(f"static std::atomic_flag {lock};")
            take = f"while ({lock}.test_and_set(std::memory_order_acquire)) sched_yield();"
            give = f"{lock}.clear(std::memory_order_release);"
        elif kind == "cas":
            self.add(f"static std::atomic<int> {lock};")
            take = (f"for (int zero = 0; !{lock}.compare_exchange_weak(zero, 1, std::memory_order_acquire, "
                    "std::memory_order_relaxed); zero = 0) sched_yield();")
            give = f"{lock}.store(0, std::memory_order_{self.rng.choice(['release', 'seq_cst'])});"
        else:
            self.add(f"static std::atomic<unsigned> {lock}, {lock}_now;")
            take = (f"unsigned const ticket = {lock}.fetch_add(1, std::memory_order_relaxed); "
                    f"while ({lock}_now.load(std::memory_order_acquire) != ticket) sched_yield();")
            give = f"{lock}_now.store(ticket + 1, std::memory_order_release);"
        return "", f"for (int r = 0; r < {rounds}; ++r) {{\n  {take}\n{self.use(d, size, True)}  {give}\n}}\n", ""

    def section_turns(self, rounds):
        d, size = self.data()
        turn = self.unique("turn")
        self.add(f"static std::atomic<int> {turn};")
        if self.rng.random() < 0.5:
            take = f"while ({turn}.load(std::memory_order_acquire) % kThreads != me) sched_yield();"
            give = f"{turn}.{self.rng.choice(['store(', 'exchange('])}{turn}.load(std::memory_order_relaxed) + 1, std::memory_order_{self.rng.choice(['release', 'seq_cst'])});"
        else:
            take = (f"while ({turn}.load(std::memory_order_relaxed) % kThreads != me) sched_yield();\n"
                    "  std::atomic_thread_fence(std::memory_order_acquire);")
            give = (f"std::atomic_thread_fence(std::memory_order_release);\n"
                    f"  {turn}.store({turn}.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);")
        return "", f"for (int r = 0; r < {rounds}; ++r) {{\n  {take}\n{self.use(d, size, True)}  {give}\n}}\n", ""

    def section_shared(self, rounds):
        d, size = self.data()
        m = self.unique("rw")
        self.add(f"static std::shared_mutex {m};")
        return "", (f"for (int r = 0; r < {rounds}; ++r) {{\n  if ((s + r) % 4 == 0) {{\n  std::unique_lock lock({m});\n"
                    f"{self.use(d, size, True)}  }} else {{\n  std::shared_lock lock({m});\n{self.use(d, size, False)}  }}\n}}\n"), ""

    def section_barrier(self, rounds):
        d, size = self.data()
        b, e = self.unique("barrier"), self.unique("each")
        self.add(f"static pthread_barrier_t {b};\nstatic long {e}[4 * 8];")
        own = self.use(f"({e} + me * 8)", 8, True)
        every = f"  for (int i = 0; i < kThreads * 8; ++i) s += {e}[i];\n" + self.use(d, size, False)
        last = f"  if (me == r % kThreads) {{\n{self.use(d, size, True)}  }}\n"
        return (f"pthread_barrier_init(&{b}, nullptr, kThreads);\n",
                f"for (int r = 0; r < {rounds}; ++r) {{\n{own}  pthread_barrier_wait(&{b});\n{every}"
                f"  pthread_barrier_wait(&{b});\n{last}  pthread_barrier_wait(&{b});\n}}\n",
                f"pthread_barrier_destroy(&{b});\n")

    def section_semaphores(self, rounds):
        d, size = self.data()
        sem = self.unique("sem")
        self.add(f"static sem_t {sem}[4];")
        return (f"for (int i = 0; i < kThreads; ++i) sem_init(&{sem}[i], 0, i == 0);\n",
                f"for (int r = 0; r < {rounds}; ++r) {{\n  while (sem_wait(&{sem}[me]) != 0) {{}}\n{self.use(d, size, True)}"
                f"  sem_post(&{sem}[(me + 1) % kThreads]);\n}}\n", "")

    def section_queue(self, rounds):
        q = self.unique("queue")
        self.add(f"struct Node{q} {{ long d[8]; Node{q}* next; }};\nstatic Node{q}* {q};\nstatic std::mutex {q}_m;\n"
                 f"static std::condition_variable {q}_c;")
        make = self.use("node->d", 8, True)
        take = self.use("node->d", 8, True)
        return "", (f"for (int r = 0; r < {rounds}; ++r) {{\n  {{\n  auto* node = static_cast<Node{q}*>(calloc(1, sizeof(Node{q})));\n"
                    f"{make}  std::lock_guard lock({q}_m);\n  node->next = {q};\n  {q} = node;\n  {q}_c.notify_one();\n  }}\n  {{\n"
                    f"  Node{q}* node;\n  {{\n  std::unique_lock lock({q}_m);\n  {q}_c.wait(lock, [] {{ return {q} != nullptr; }});\n"
                    f"  node = {q};\n  {q} = node->next;\n  }}\n{take}  free(node);\n  }}\n}}\n"), ""

    def section_recycle(self, rounds):
        """Memory of the allocator, which goes from thread to thread by its own means."""
        body = self.use("block", 8, True)
        return "", (f"for (int r = 0; r < {rounds}; ++r) {{\n  long* block = static_cast<long*>(malloc(64 + (s & 1) * 64));\n"
                    f"  memset(block, 0, 64);\n{body}  free(block);\n  std::unique_ptr<long[]> other(new long[8]());\n"
                    f"{self.use('other.get()', 8, True)}}}\n"), ""

    def section_published(self, rounds):
        """Written once, then published by a release and read by everybody."""
        d, size = self.data()
        p = self.unique("published")
        self.add(f"static std::atomic<long*> {p};")
        return "", (f"if (me == 0) {{\n{self.use(d, size, True)}  {p}.store({d}, std::memory_order_release);\n}}\n"
                    f"for (int r = 0; r < {rounds}; ++r) {{\n  if (const long* now = {p}.load(std::memory_order_acquire)) {{\n"
                    f"{self.use('now', size, False)}  }}\n}}\n"), ""

    def section_child(self, rounds):
        """A thread of a thread, with variables of its parent's stack."""
        name = self.unique("child")
        self.add(f"static OUT long {name}(long s) {{\n  long local[8] = {{s}};\n  std::thread child([&local] {{\n  long s = 0;\n"
                 f"{self.use('local', 8, True)}  }});\n  child.join();\n{self.use('local', 8, True)}  return s;\n}}")
        return "", f"for (int r = 0; r < {max(1, rounds // 20)}; ++r) s += {name}(s);\n", ""

    def section_pool(self, rounds):
        pool, d = self.unique("pool"), self.unique("task")
        self.add(f"static Pool* {pool};\nstatic std::vector<std::thread>* {pool}_w;")
        self.add(f"static OUT long {d}(long* data, long s) {{\n{self.use('data', 8, True)}  return s;\n}}")
        return (f"{pool} = new Pool;\n{pool}_w = new std::vector<std::thread>;\nfor (int i = 0; i < 2; ++i) "
                f"{pool}_w->emplace_back([] {{ {pool}->work(); }});\n",
                f"for (int r = 0; r < {max(1, rounds // 4)}; ++r) {{\n  auto data = std::make_unique<long[]>(8);\n"
                f"{self.use('data.get()', 8, True)}  long* const raw = data.get();\n"
                f"  auto result = {pool}->add(std::packaged_task<long()>([raw, s] {{ return {d}(raw, s); }}));\n"
                f"  s += result.get();\n{self.use('data.get()', 8, True)}}}\n",
                f"{{ std::lock_guard lock({pool}->mutex); {pool}->done = true; {pool}->more.notify_all(); }}\n"
                f"for (auto& w : *{pool}_w) w.join();\ndelete {pool}_w;\ndelete {pool};\n")

    def section_once(self, rounds):
        d, size = self.data()
        flag = self.unique("once")
        if self.rng.random() < 0.5:
            self.add(f"static std::once_flag {flag};")
            ensure = f"std::call_once({flag}, [&] {{\n{self.use(d, size, True)}  }});"
        else:
            self.add(f"static OUT long {flag}_init(long s) {{\n{self.use(d, size, True)}  return s;\n}}\n"
                     f"static OUT long {flag}() {{ static long value = {flag}_init(3); return value; }}")
            ensure = f"s += {flag}();"
        return "", f"for (int r = 0; r < {rounds}; ++r) {{\n  {ensure}\n{self.use(d, size, False)}}}\n", ""

    def section_counter(self, rounds):
        """The last one to leave cleans up: a reference count."""
        d, size = self.data()
        count = self.unique("count")
        self.add(f"static std::atomic<int> {count};")
        return (f"{count} = kThreads;\n",
                f"{self.use(d, size, False)}if ({count}.fetch_sub(1, std::memory_order_acq_rel) == 1) {{\n"
                f"{self.use(d, size, True)}}}\n", "")

    def section_columns(self, rounds):
        """Each thread has columns of its own in a table whose rows all share: strides, forwards and backwards, of
        elements of every size, and single elements between them; now and then a barrier turns the columns round."""
        rng = self.rng
        t, b = self.unique("table"), self.unique("rows")
        width = rng.choice(["char", "short", "int", "long", "Pair"])
        rows = rng.choice([3, 20, 300])
        fields = rng.choice([4, 5, 7, 12])  # at least one for each thread
        if width == "Pair":
            self.add(f"struct Pair{t} {{ int a; short b; long v() const {{ return a + b; }} "
                     f"Pair{t}& operator+=(long x) {{ a += x; b ^= x; return *this; }} }};")
            width, value = f"Pair{t}", ".v()"
        else:
            value = ""
        self.add(f"static {width} {t}[{rows} * {fields}];\nstatic pthread_barrier_t {b};")
        text = f"  int const c = (me + r) % kThreads;\n  {width}* const mine = {t} + c;\n"
        step = fields
        for _ in range(rng.randint(1, 3)):
            stride = step * rng.choice([1, 1, 2, 3])
            kind = rng.choice(["read", "write", "back", "one", "while", "pointer"])
            last = rows * fields - fields
            if kind == "read":
                text += f"  for (int i = 0; i < {rows} * {fields} - {fields} + 1; i += {stride}) s += mine[i]{value};\n"
            elif kind == "write":
                text += f"  for (int i = 0; i < {rows} * {fields} - {fields} + 1; i += {stride}) mine[i] += s;\n"
            elif kind == "back":
                text += f"  for (long i = {last}; i >= 0; i -= {stride}) mine[i] += i;\n"
            elif kind == "one":
                text += f"  mine[{rng.randrange(rows)} * {fields}] += s;\n"
            elif kind == "while":
                text += f"  for (unsigned i = 0, n = s & 31; i < n && i < {rows}; ++i) mine[i * {fields}] += 3;\n"
            else:
                text += f"  for (auto* p = mine; p < {t} + {rows} * {fields}; p += {stride}) *p += 1;\n"
        # Rows of one thread, then columns of all: what is ordered by the barrier must not meet.
        turn = f"  pthread_barrier_wait(&{b});\n"
        if rng.random() < 0.5:
            turn += (f"  if (me == r % kThreads) for (int i = 0; i < {rows} * {fields}; ++i) s += {t}[i]{value};\n"
                     f"  pthread_barrier_wait(&{b});\n")
        return (f"pthread_barrier_init(&{b}, nullptr, kThreads);\n", f"for (int r = 0; r < {rounds}; ++r) {{\n{text}{turn}}}\n",
                f"pthread_barrier_destroy(&{b});\n")

    def program(self, number):
        rng = self.rng
        threads = rng.randint(2, 4)
        kinds = [getattr(self, name) for name in dir(self) if name.startswith("section_")]
        sections = [rng.choice(kinds)(rng.randint(10, 60)) for _ in range(rng.randint(1, 4))]
        setup = "".join(s[0] for s in sections)
        body = "".join("{\n" + s[1] + "}\n" for s in sections)
        teardown = "".join(s[2] for s in sections)
        self.add(f"static void program{number}() {{\n  enum {{ kThreads = {threads} }};\n{setup}"
                 f"  auto work = [](int me) {{\n  long s = me;\n{body}  (void)s; (void)me; }};\n"
                 "  std::vector<std::thread> all;\n  for (int i = 0; i < kThreads; ++i) all.emplace_back(work, i);\n"
                 f"  for (auto& t : all) t.join();\n{teardown}}}")


def generate(seed, programs):
    writer = Writer(random.Random(seed))
    for number in range(programs):
        writer.program(number)
    calls = "".join(f"  program{number}();\n" for number in range(programs))
    return PROLOGUE + "\n".join(writer.lines) + f"\nint main() {{\n{calls}}}\n"


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 5))
