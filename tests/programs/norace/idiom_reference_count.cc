// rule: idioms
// claim: acquire-release reference counting is correct
// expect: nothing
#include <atomic>

#include "../order.h"

struct Object {
  std::atomic<int> references{2};
  int value = 0;
};
Object* object;

static void drop() {
  if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object;
}

static void* first(void*) {
  object->value = 1;
  drop();
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  drop();
  return nullptr;
}

int main() {
  object = new Object;
  run2(first, second);
}
