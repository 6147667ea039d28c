// rule: memory orders
// claim: a compare-exchange that succeeds with relaxed order hands nothing over
// expect: race write@a write@b
#include <atomic>

#include "../order.h"

int data;
std::atomic<bool> taken{false};

static void lock() {
  bool expected = false;
  while (!taken.compare_exchange_weak(expected, true, std::memory_order_relaxed)) {
    expected = false;
    doze(50);
  }
}

static void unlock() { taken.store(false, std::memory_order_release); }

static void* first(void*) {
  lock();
  data = 1;  // @a
  unlock();
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  lock();
  data = 2;  // @b
  unlock();
  return nullptr;
}

int main() { run2(first, second); }
