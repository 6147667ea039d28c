// rule: memory orders
// claim: clearing an atomic_flag relaxed does not give the data back
// expect: race any@a any@a
#include <atomic>

#include "../order.h"

long counter;
std::atomic_flag busy = ATOMIC_FLAG_INIT;

static void* adder(void*) {
  for (int i = 0; i < 100; i++) {
    while (busy.test_and_set(std::memory_order_acquire)) doze(10);
    counter++;  // @a
    busy.clear(std::memory_order_relaxed);
  }
  return nullptr;
}

int main() { run2(adder, adder); }
