// A program that mixes everything a recording must hold, in an order that a seed chooses.
//
//   stress SEED [THREADS] [STEPS]
//
// Every thread makes STEPS random steps; each step is one feature below. Some steps race on purpose: a replay
// must show what each thread saw, whatever that was. The output is a digest that no two runs need to share.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using u64 = uint64_t;

struct Random {
  u64 state;
  u64 next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1Dull;
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(next() >> 33) % n; }
};

// --- What the threads share
std::mutex lock;
std::shared_mutex readers;
std::condition_variable changed;
int turns;
long racy[64];  // no lock: what is read is whatever is there
volatile int racy_flag;
std::atomic<int8_t> a8;
std::atomic<uint16_t> a16;
std::atomic<int> a32;
std::atomic<u64> a64;
std::atomic<double> a_double;
std::atomic<void*> a_pointer;
__int128 shared128;
thread_local u64 own = 7;
thread_local std::string own_text = "thread";
sem_t semaphore;
pthread_barrier_t barrier;
pthread_once_t once = PTHREAD_ONCE_INIT;
int initialised;
int pipe_ends[2];

// --- Features
int ascending(const void* a, const void* b) {
  const int x = *static_cast<const int*>(a), y = *static_cast<const int*>(b);
  return (x > y) - (x < y);
}

u64 sorting(Random& random) {
  int values[64];
  for (int& value : values) value = static_cast<int>(random.next());
  qsort(values, 64, sizeof values[0], ascending);
  const int key = values[random.below(64)];
  const void* const found = bsearch(&key, values, 64, sizeof values[0], ascending);
  return static_cast<u64>(static_cast<const int*>(found) - values);
}

[[gnu::noinline]] u64 deep(Random& random, int depth) {
  u64 local[4] = {random.next(), own, static_cast<u64>(depth), 0};
  u64* const volatile escaped = local;
  if (depth > 0) escaped[3] = deep(random, depth - 1);
  return escaped[0] ^ escaped[1] + escaped[2] * escaped[3];
}

struct Guard {
  u64* at;
  ~Guard() { *at = *at * 31 + 1; }
};

[[gnu::noinline]] void throwing(Random& random, int depth, u64* trail) {
  Guard const guard{trail};
  if (depth == 0) {
    switch (random.below(4)) {
      case 0:
        throw 42;
      case 1:
        throw std::runtime_error("runtime");
      case 2:
        throw std::string("text");
      default:
        std::vector<int>(3).at(7);
    }
  }
  if (random.below(3) == 0) {
    try {
      throwing(random, depth - 1, trail);
    } catch (int) {
      *trail += 3;
      throw;
    } catch (const std::string& text) {
      *trail += text.size();
      throw std::logic_error(text);
    }
    return;
  }
  throwing(random, depth - 1, trail);
}

u64 exceptions(Random& random) {
  u64 trail = random.next();
  try {
    throwing(random, static_cast<int>(random.below(6)), &trail);
  } catch (const std::exception& problem) {
    trail += strlen(problem.what());
  } catch (...) {
    trail += 5;
  }
  return trail;
}

int thrower(const void*, const void*) { throw 9; }
u64 exception_through_library(Random& random) {
  int values[4] = {4, 3, 2, static_cast<int>(random.below(9))};
  try {
    qsort(values, 4, sizeof values[0], thrower);
  } catch (int code) {
    return static_cast<u64>(code);
  }
  return 0;
}

struct Environment {
  jmp_buf buffer;
  u64 crumbs;
};
[[gnu::noinline]] void jumping(Environment& environment, int depth) {
  environment.crumbs += static_cast<u64>(depth);
  if (depth == 0) longjmp(environment.buffer, 5);
  jumping(environment, depth - 1);
}
thread_local Environment* current;
int jumper(const void*, const void*) { longjmp(current->buffer, 6); }

u64 jumps(Random& random) {
  Environment environment{};
  volatile int rounds = 0;
  const int code = setjmp(environment.buffer);
  if (rounds < 3) {
    rounds = rounds + 1;
    if (random.below(2) == 0) jumping(environment, 5);
    current = &environment;
    int values[2] = {2, 1};
    qsort(values, 2, sizeof values[0], jumper);
  }
  return environment.crumbs * 8 + static_cast<u64>(code);
}

[[gnu::noinline]] long sum_of(int count, ...) {
  va_list list, again;
  va_start(list, count);
  va_copy(again, list);
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, long);
  double fraction = 0;
  for (int i = 0; i < count; ++i) fraction += static_cast<double>(va_arg(again, long)) / 3;
  va_end(list);
  va_end(again);
  return sum + static_cast<long>(fraction);
}
u64 variadic(Random& random) {
  const long a = static_cast<long>(random.below(1000));
  char text[64];
  snprintf(text, sizeof text, "%ld %.3f %s", a, static_cast<double>(a) / 7, own_text.c_str());
  return static_cast<u64>(sum_of(7, a, 2L, 3L, a, 5L, 6L, 7L)) + strlen(text);
}

struct Large {
  u64 words[9];
};
[[gnu::noinline]] u64 by_value(Large large, long double scale, __int128 wide) {
  large.words[2] += static_cast<u64>(wide >> 3);
  u64 sum = 0;
  for (u64 word : large.words) sum += word;
  return sum + static_cast<u64>(scale * 2.5L);
}
u64 arguments(Random& random) {
  Large large{};
  for (u64& word : large.words) word = random.below(1000);
  return by_value(large, static_cast<long double>(random.below(100)),
                  static_cast<__int128>(random.next()) << 40);
}

u64 copies(Random& random) {
  unsigned char from[200], to[200];
  memset(from, static_cast<int>(random.next()), sizeof from);
  memset(to, 1, sizeof to);
  const unsigned at = random.below(90), size = random.below(100);
  memcpy(to + at, from + random.below(90), size);
  memmove(to + random.below(50), to + random.below(50), random.below(120));
  memmove(to + 20, to + 11, random.below(150));
  u64 sum = 0;
  for (unsigned char byte : to) sum = sum * 3 + byte;
  return sum + static_cast<u64>(memcmp(from, to, sizeof from) > 0);
}

u64 vectors(Random& random) {
  float x[67], y[67];
  const unsigned shift = random.below(3);
  for (int i = 0; i < 67; ++i) {
    x[i] = static_cast<float>(random.below(1000)) / 7;
    y[i] = x[i] * 2;
  }
  float* const px = x + shift;
  for (int i = 0; i < 64; ++i) y[i] = px[i] * y[i] + 1.5f;
  float sum = 0;
  for (float value : y) sum += value;
  u64 bits = 0;
  memcpy(&bits, &sum, sizeof sum);
  return bits;
}

struct Shape {
  virtual ~Shape() = default;
  virtual u64 area(u64 scale) const = 0;
};
struct Square : Shape {
  u64 side;
  explicit Square(u64 s) : side(s) {}
  u64 area(u64 scale) const override { return side * side * scale; }
};
struct Named {
  virtual ~Named() = default;
  virtual u64 name() const { return 11; }
};
struct Both : Named, Square {
  explicit Both(u64 s) : Square(s) {}
  u64 area(u64 scale) const override { return side + scale + name(); }
};
u64 objects(Random& random) {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 6; ++i) {
    if (random.below(2) == 0)
      shapes.push_back(std::make_unique<Square>(random.below(50)));
    else
      shapes.push_back(std::make_unique<Both>(random.below(50)));
  }
  u64 sum = 0;
  for (const auto& shape : shapes) sum += shape->area(random.below(9));
  std::function<u64(u64)> add = [&](u64 more) { return sum + more; };
  return add(dynamic_cast<Both*>(shapes[0].get()) != nullptr ? 1 : 2);
}

u64 containers(Random& random) {
  std::map<std::string, int> counts;
  for (int i = 0; i < 30; ++i) ++counts["key" + std::to_string(random.below(10))];
  std::set<int> unique;
  for (int i = 0; i < 20; ++i) unique.insert(static_cast<int>(random.below(12)));
  std::vector<int> order(unique.begin(), unique.end());
  std::sort(order.begin(), order.end(), std::greater<int>());
  return counts.size() * 100 + order.size() + static_cast<u64>(order.front());
}

u64 heap(Random& random) {
  auto* block = static_cast<char*>(malloc(10 + random.below(500)));
  strcpy(block, "recorded");
  block = static_cast<char*>(realloc(block, 2000));
  strcat(block, " again");
  const u64 length = strlen(block);
  char* const copy = strdup(block);
  const u64 same = strcmp(copy, block) == 0;
  free(copy);
  free(block);
  return length * 2 + same;
}

u64 atomics(Random& random) {
  const auto value = static_cast<int>(random.below(100));
  a8.fetch_add(static_cast<int8_t>(value), std::memory_order_relaxed);
  a16.fetch_xor(static_cast<uint16_t>(value), std::memory_order_acq_rel);
  int expected = a32.load(std::memory_order_acquire);
  while (!a32.compare_exchange_weak(expected, expected * 3 + value)) {
  }
  a64.fetch_or(1ull << random.below(60));
  a64.fetch_and(~(1ull << random.below(60)), std::memory_order_release);
  double before = a_double.load();
  a_double.compare_exchange_strong(before, before + 0.5);
  void* const old = a_pointer.exchange(&racy[random.below(64)]);
  __atomic_fetch_max(reinterpret_cast<int*>(&a32), value, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return static_cast<u64>(a8.load()) + a16.load() + static_cast<u64>(expected) + a64.load() +
         (old != nullptr);
}

u64 racing(Random& random) {
  const unsigned at = random.below(64);
  racy[at] += static_cast<long>(random.below(10));
  racy_flag = racy_flag + 1;
  shared128 += at;
  u64 sum = 0;
  for (long value : racy) sum += static_cast<u64>(value);
  return sum + static_cast<u64>(shared128);
}

u64 locks(Random& random) {
  {
    std::lock_guard<std::mutex> const guard(lock);
    turns += static_cast<int>(random.below(3));
    changed.notify_all();
  }
  {
    std::unique_lock<std::mutex> held(lock);
    changed.wait_for(held, std::chrono::microseconds(random.below(50)), [&] { return turns % 2 == 0; });
  }
  std::shared_lock<std::shared_mutex> const shared(readers);
  if (random.below(4) == 0 && lock.try_lock()) {
    ++turns;
    lock.unlock();
  }
  return static_cast<u64>(racy[3]);
}

void initialise() { initialised = 77; }
u64& counter() {
  static u64 count = [] { return static_cast<u64>(time(nullptr)); }();
  return count;
}
u64 others(Random& random) {
  pthread_once(&once, initialise);
  sem_post(&semaphore);
  sem_wait(&semaphore);
  u64 stamp = 0;
  unsigned low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  stamp = static_cast<u64>(high) << 32 | low;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char byte = static_cast<char>(random.next());
  if (write(pipe_ends[1], &byte, 1) == 1 && read(pipe_ends[0], &byte, 1) != 1) abort();
  own += static_cast<u64>(byte) + stamp + static_cast<u64>(now.tv_nsec);
  own_text += static_cast<char>('a' + random.below(26));
  if (own_text.size() > 40) own_text.clear();
  std::unique_lock<std::mutex> const held(lock);
  return own + counter()++ + static_cast<u64>(initialised);
}

thread_local volatile sig_atomic_t signals_seen;
void on_signal(int, siginfo_t*, void*) {
  signals_seen = signals_seen + 1;
  racy[1] = racy[1] + 1;
}
u64 signals(Random& random) {
  const int before = signals_seen;
  raise(SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR2);
  u64 spins = 0;
  while (signals_seen < before + 2) ++spins;
  return static_cast<u64>(signals_seen) + random.below(3) + (spins > 1000000);
}

u64 tasks(Random& random) {
  const u64 seed = random.next();
  auto future = std::async(std::launch::async, [seed] {
    Random inner{seed | 1};
    return deep(inner, 3) + containers(inner);
  });
  std::promise<u64> promise;
  auto answer = promise.get_future();
  std::thread helper([&] { promise.set_value(seed * 3); });
  helper.join();
  return future.get() + answer.get();
}

[[gnu::noinline]] u64 variable_frame(Random& random) {
  const unsigned size = 1 + random.below(40);
  auto* const words = static_cast<u64*>(__builtin_alloca(size * sizeof(u64)));
  for (unsigned i = 0; i < size; ++i) words[i] = random.next();
  std::sort(words, words + size);
  return words[size / 2];
}

u64 step(Random& random) {
  using Feature = u64 (*)(Random&);
  static constexpr Feature features[] = {sorting,    exceptions,    exception_through_library,
                                         jumps,      variadic,      arguments,
                                         copies,     vectors,       objects,
                                         containers, heap,          atomics,
                                         racing,     locks,         others,
                                         signals,    variable_frame};
  if (random.below(40) == 0) return tasks(random);
  if (random.below(10) == 0) return deep(random, static_cast<int>(random.below(8)));
  return features[random.below(sizeof features / sizeof features[0])](random);
}

struct Work {
  u64 seed;
  int steps;
  u64 digest;
};

void* run(void* argument) {
  auto* const work = static_cast<Work*>(argument);
  Random random{work->seed * 0x9E3779B97F4A7C15ull | 1};
  for (int i = 0; i < work->steps; ++i) {
    work->digest = work->digest * 1000003 + step(random);
    if (i == work->steps / 2) pthread_barrier_wait(&barrier);
  }
  if (work->seed % 3 == 0) pthread_exit(work);
  return work;
}

void farewell() { fputs("farewell\n", stderr); }

}  // namespace

int main(int argc, char** argv) {
  const u64 seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  const int threads = argc > 2 ? atoi(argv[2]) : 3;
  const int steps = argc > 3 ? atoi(argv[3]) : 40;
  atexit(farewell);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);
  sem_init(&semaphore, 0, 0);
  if (pipe(pipe_ends) != 0) return 1;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  std::vector<Work> works(static_cast<size_t>(threads));
  std::vector<pthread_t> handles(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    works[static_cast<size_t>(i)] = {seed * 131 + static_cast<u64>(i), steps, 0};
    pthread_create(&handles[static_cast<size_t>(i)], nullptr, run, &works[static_cast<size_t>(i)]);
  }
  u64 digest = 0;
  for (int i = 0; i < threads; ++i) {
    void* result = nullptr;
    pthread_join(handles[static_cast<size_t>(i)], &result);
    digest = digest * 31 + static_cast<Work*>(result)->digest;
  }
  printf("%016llx\n", static_cast<unsigned long long>(digest));
  return 0;
}
