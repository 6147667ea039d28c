// rule: memory orders
// claim: a failed compare-exchange has its failure order: relaxed learns nothing
// expect: race write@a read@b
#include <atomic>

#include "../order.h"

int data;
std::atomic<int> flag{0};

static void* writer(void*) {
  data = 1;  // @a
  flag.store(5, std::memory_order_release);
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  int expected = 0;
  if (flag.compare_exchange_strong(expected, 9, std::memory_order_acq_rel, std::memory_order_relaxed)) abort();
  use(data);  // @b
  return nullptr;
}

int main() { run2(writer, reader); }
