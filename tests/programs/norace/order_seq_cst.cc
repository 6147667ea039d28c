// rule: memory orders
// claim: a sequentially consistent store and load of one atomic order what is around them
// expect: nothing
#include <atomic>

#include "../order.h"

int data;
std::atomic<int> flag, other;

static void* writer(void*) {
  data = 1;
  flag = 1;
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(flag);
  use(data);
  return nullptr;
}

int main() { run2(writer, reader); }
