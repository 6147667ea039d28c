// rule: exit
// claim: the destructor of a static races with a detached thread that still uses it
// expect: race write@a any@b
#include "../order.h"

struct Registry {
  int entries = 0;
  ~Registry() { use(*const_cast<volatile int*>(&entries)); }  // @b
} registry;

static void* worker(void*) {
  registry.entries = 1;  // @a
  step();
  for (;;) doze(1000);
  return nullptr;
}

int main() {
  pthread_t t = start(worker);
  await(1);
  pthread_detach(t);
}
