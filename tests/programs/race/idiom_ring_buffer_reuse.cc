// rule: idioms
// claim: a ring buffer whose consumer gives slots back relaxed races when they are reused
// expect: race read@b write@a
#include <atomic>

#include "../order.h"

long slots[4];
std::atomic<unsigned> head{0}, tail{0};
constexpr unsigned kItems = 100;

static void* producer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (i - tail.load(std::memory_order_acquire) == 4) doze(10);
    slots[i % 4] = i;  // @a
    head.store(i + 1, std::memory_order_release);
  }
  return nullptr;
}

static void* consumer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (head.load(std::memory_order_acquire) == i) doze(10);
    use(slots[i % 4]);  // @b
    tail.store(i + 1, std::memory_order_relaxed);
  }
  return nullptr;
}

int main() { run2(producer, consumer); }
