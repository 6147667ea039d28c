// rule: idioms
// claim: freeing the old version after every reader has announced itself is correct
// expect: nothing
#include <atomic>

#include "../order.h"

struct Version {
  int value;
};
std::atomic<Version*> current;
std::atomic<int> quiescent{0};

static void* reader(void*) {
  Version* seen = current.load(std::memory_order_acquire);
  use(seen->value);
  quiescent.fetch_add(1, std::memory_order_release);
  step();
  return nullptr;
}

static void* updater(void*) {
  await(2);
  Version* old = current.exchange(new Version{2}, std::memory_order_acq_rel);
  while (quiescent.load(std::memory_order_acquire) != 2) doze(50);
  delete old;
  return nullptr;
}

int main() {
  current = new Version{1};
  run3(reader, reader, updater);
  delete current.load();
}
