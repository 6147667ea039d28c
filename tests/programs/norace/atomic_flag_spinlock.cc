// rule: memory orders
// claim: an atomic_flag spinlock with acquire and release protects
// expect: nothing
#include <atomic>

#include "../order.h"

long counter;
std::atomic_flag busy = ATOMIC_FLAG_INIT;

static void* adder(void*) {
  for (int i = 0; i < 100; i++) {
    while (busy.test_and_set(std::memory_order_acquire)) doze(10);
    counter++;
    busy.clear(std::memory_order_release);
  }
  return nullptr;
}

int main() { run2(adder, adder); }
