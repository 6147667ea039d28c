// Thrown, cleaned up after, rethrown and caught by a base class, all live.
// A-B: exited with code 0
// A-B output: fine
// B-A: exited with code 9
// B-A output: cleaned up / inner / caught 7
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

struct Problem {
  explicit Problem(int number) : number(number) {}
  virtual ~Problem() = default;
  int number;
};
struct SpecialProblem : Problem {
  using Problem::Problem;
};
struct Cleanup {
  ~Cleanup() { std::puts("cleaned up"); }
};

static volatile int mode;

__attribute__((noinline)) static void fail(int number) {
  Cleanup cleanup;
  if (number != 0) throw SpecialProblem(number);
  std::puts("?");
}

__attribute__((noinline)) static void middle(int number) {
  try {
    fail(number);
  } catch (int) {
    std::puts("an int?");
  } catch (const SpecialProblem&) {
    std::puts("inner");
    throw;
  }
}

static void* set(void*) {
  mode = 1;  // <A>
  return nullptr;
}

static void* act(void*) {
  int seen = mode;  // <B>
  if (seen != 0) {
    std::puts("fine");
    return nullptr;
  }
  try {
    middle(7);
  } catch (const Problem& problem) {
    std::printf("caught %d\n", problem.number);
    std::exit(9);
  }
  return nullptr;
}

int main() {
  pthread_t a, b;
  pthread_create(&a, nullptr, set, nullptr);
  usleep(100000);
  pthread_create(&b, nullptr, act, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  return 0;
}
