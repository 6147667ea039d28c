// rule: memory orders
// claim: sequentially consistent operations on two different atomics order nothing
// expect: race write@a read@b
#include <atomic>

#include "../order.h"

int data;
std::atomic<int> flag, other;

static void* writer(void*) {
  data = 1;  // @a
  other = 1;
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(flag);
  use(data);  // @b
  return nullptr;
}

int main() { run2(writer, reader); }
