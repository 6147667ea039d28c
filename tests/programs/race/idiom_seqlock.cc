// rule: idioms
// claim: a seqlock over plain data is a race, whatever its counter says
// expect: race write@a read@b
#include <atomic>

#include "../order.h"

std::atomic<unsigned> sequence{0};
long x, y;

static void* writer(void*) {
  unsigned before = sequence.load(std::memory_order_relaxed);
  sequence.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  x = 1;  // @a
  y = 1;  // @a
  step();
  await(2);
  sequence.store(before + 2, std::memory_order_release);
  return nullptr;
}

static void* reader(void*) {
  await(1);
  unsigned before = sequence.load(std::memory_order_acquire);
  long a = x, b = y;  // @b
  std::atomic_thread_fence(std::memory_order_acquire);
  if (before % 2 == 0 && sequence.load(std::memory_order_relaxed) == before && a != b) abort();
  step();
  return nullptr;
}

int main() { run2(writer, reader); }
