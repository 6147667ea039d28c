// rule: idioms
// claim: double-checked locking with an acquire load and a release store is correct
// expect: nothing
#include <atomic>
#include <mutex>

#include "../order.h"

struct Service {
  int port;
  Service() : port(steps_so_far() + 80) {}
};
std::atomic<Service*> instance;
std::mutex mutex;

static Service* get() {
  Service* seen = instance.load(std::memory_order_acquire);
  if (seen == nullptr) {
    std::lock_guard guard(mutex);
    seen = instance.load(std::memory_order_relaxed);
    if (seen == nullptr) {
      seen = new Service;
      instance.store(seen, std::memory_order_release);
    }
  }
  return seen;
}

static void* first(void*) {
  use(get()->port);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(get()->port);
  return nullptr;
}

int main() { run2(first, second); }
