// rule: exit
// claim: statics are destroyed after all that main did and joined
// expect: nothing
#include "../order.h"

struct Registry {
  int entries = 0;
  ~Registry() { use(*const_cast<volatile int*>(&entries)); }
} registry;

static void* worker(void*) {
  registry.entries = 1;
  step();
  return nullptr;
}

int main() {
  pthread_t t = start(worker);
  await(1);
  join(t);
}
