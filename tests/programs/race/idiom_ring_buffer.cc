// rule: idioms
// claim: a ring buffer whose producer publishes relaxed races on the slots
// expect: race write@a read@b
#include <atomic>

#include "../order.h"

long slots[8];
std::atomic<unsigned> head{0}, tail{0};
constexpr unsigned kItems = 200;
constexpr auto kPublish = std::memory_order_relaxed;

static void* producer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (i - tail.load(std::memory_order_acquire) == 8) doze(10);
    slots[i % 8] = i;  // @a
    head.store(i + 1, kPublish);
  }
  return nullptr;
}

static void* consumer(void*) {
  for (unsigned i = 0; i < kItems; i++) {
    while (head.load(std::memory_order_acquire) == i) doze(10);
    use(slots[i % 8]);  // @b
    tail.store(i + 1, std::memory_order_release);
  }
  return nullptr;
}

int main() { run2(producer, consumer); }
