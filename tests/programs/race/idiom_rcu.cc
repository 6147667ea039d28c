// rule: idioms
// claim: freeing the old version without a grace period races with its readers
// expect: race read@a free@b
#include <atomic>

#include "../order.h"

struct Version {
  int value;
};
std::atomic<Version*> current;
std::atomic<int> quiescent{0};

static void* reader(void*) {
  Version* seen = current.load(std::memory_order_acquire);
  use(seen->value);  // @a
  step();
  return nullptr;
}

static void* updater(void*) {
  await(2);
  Version* old = current.exchange(new Version{2}, std::memory_order_acq_rel);
  delete old;  // @b
  return nullptr;
}

int main() {
  current = new Version{1};
  run3(reader, reader, updater);
  delete current.load();
}
