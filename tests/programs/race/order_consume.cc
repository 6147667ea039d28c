// rule: memory orders
// claim: data behind a pointer that was stored relaxed is not ordered, not even by a dependence
// expect: race write@a read@b
#include <atomic>

#include "../order.h"

struct Box {
  int value;
};
Box box;
std::atomic<Box*> published;

static void* writer(void*) {
  box.value = 1;  // @a
  published.store(&box, std::memory_order_relaxed);
  return nullptr;
}

static void* reader(void*) {
  Box* p;
  while ((p = published.load(std::memory_order_consume)) == nullptr) doze(50);
  use(p->value);  // @b
  return nullptr;
}

int main() { run2(writer, reader); }
