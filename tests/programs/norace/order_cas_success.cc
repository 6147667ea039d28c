// rule: memory orders
// claim: compare-exchange with acquire takes the lock that a release store gave back
// expect: nothing
#include <atomic>

#include "../order.h"

int data;
std::atomic<bool> taken{false};

static void lock() {
  bool expected = false;
  while (!taken.compare_exchange_weak(expected, true, std::memory_order_acquire)) {
    expected = false;
    doze(50);
  }
}

static void unlock() { taken.store(false, std::memory_order_release); }

static void* first(void*) {
  lock();
  data = 1;
  unlock();
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  lock();
  data = 2;
  unlock();
  return nullptr;
}

int main() { run2(first, second); }
