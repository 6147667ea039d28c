// rule: idioms
// claim: a ring buffer of one producer and one consumer with acquire and release is correct
// expect: nothing
#include <atomic>

#include "../order.h"

long slots[8];
std::atomic<unsigned> head{0}, tail{0};
constexpr unsigned kItems = 200;
constexpr auto kPublish = std::memory_order_release;

static void* producer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (i - tail.load(std::memory_order_acquire) == 8) doze(10);
    slots[i % 8] = i;
    head.store(i + 1, kPublish);
  }
  return nullptr;
}

static void* consumer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (head.load(std::memory_order_acquire) == i) doze(10);
    use(slots[i % 8]);
    tail.store(i + 1, std::memory_order_release);
  }
  return nullptr;
}

int main() { run2(producer, consumer); }
