// rule: idioms
// claim: double-checked locking with a plain pointer races
// expect: race write@a read@b
// allow: race write@c read@d
#include <atomic>
#include <mutex>

#include "../order.h"

struct Service {
  int port;
  Service() : port(steps_so_far() + 80) {}  // @c
};
Service* instance;
std::mutex mutex;

static Service* get() {
  if (instance == nullptr) {  // @b
    std::lock_guard guard(mutex);
    if (instance == nullptr) instance = new Service;  // @a
  }
  return instance;  // @b
}

static void* first(void*) {
  use(get()->port);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(get()->port);  // @d
  return nullptr;
}

int main() { run2(first, second); }
