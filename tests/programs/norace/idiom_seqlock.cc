// rule: idioms
// claim: a seqlock over relaxed atomics with fences is correct
// expect: nothing
#include <atomic>

#include "../order.h"

std::atomic<unsigned> sequence{0};
std::atomic<long> x, y;

static void* writer(void*) {
  for (int i = 1; i <= 3; i++) {
    unsigned before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    x.store(i, std::memory_order_relaxed);
    y.store(i, std::memory_order_relaxed);
    sequence.store(before + 2, std::memory_order_release);
  }
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  for (int tries = 0; tries < 1000; tries++) {
    unsigned before = sequence.load(std::memory_order_acquire);
    long a = x.load(std::memory_order_relaxed), b = y.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && sequence.load(std::memory_order_relaxed) == before) {
      if (a != b) abort();
      break;
    }
  }
  return nullptr;
}

int main() { run2(writer, reader); }
