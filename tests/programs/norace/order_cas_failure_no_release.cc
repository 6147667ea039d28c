// rule: memory orders
// claim: a compare-exchange that succeeds releases
// expect: nothing
#include <atomic>

#include "../order.h"

int data;
std::atomic<int> flag{7};

static void* writer(void*) {
  data = 1;
  int expected = 7;
  use(flag.compare_exchange_strong(expected, 9, std::memory_order_seq_cst));
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(flag.load(std::memory_order_seq_cst));
  use(data);
  return nullptr;
}

int main() { run2(writer, reader); }
