// rule: memory orders
// claim: consume orders what is reached through the pointer
// expect: nothing
#include <atomic>

#include "../order.h"

struct Box {
  int value;
};
Box box;
std::atomic<Box*> published;

static void* writer(void*) {
  box.value = 1;
  published.store(&box, std::memory_order_release);
  return nullptr;
}

static void* reader(void*) {
  Box* p;
  while ((p = published.load(std::memory_order_consume)) == nullptr) doze(50);
  use(p->value);
  return nullptr;
}

int main() { run2(writer, reader); }
