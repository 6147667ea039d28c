// rule: idioms
// claim: relaxed reference counting lets the destruction race with another owner's last use
// expect: race write@a free@b
// expect: race atomic-write@b free@b
#include <atomic>

#include "../order.h"

struct Object {
  std::atomic<int> references{2};
  int value = 0;
};
Object* object;

static void drop() {
  if (object->references.fetch_sub(1, std::memory_order_relaxed) == 1) delete object;  // @b
}

static void* first(void*) {
  object->value = 1;  // @a
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
