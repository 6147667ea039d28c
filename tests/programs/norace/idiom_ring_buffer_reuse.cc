// rule: idioms
// claim: slots given back by release may be reused
// expect: nothing
#include <atomic>

#include "../order.h"

long slots[4];
std::atomic<unsigned> head{0}, tail{0};
constexpr unsigned kItems = 100;

static void* producer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (i - tail.load(std::memory_order_acquire) == 4) doze(10);
    slots[i % 4] = i;
    head.store(i + 1, std::memory_order_release);
  }
  return nullptr;
}

static void* consumer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (head.load(std::memory_order_acquire) == i) doze(10);
    use(slots[i % 4]);
    tail.store(i + 1, std::memory_order_release);
  }
  return nullptr;
}

int main() { run2(producer, consumer); }
