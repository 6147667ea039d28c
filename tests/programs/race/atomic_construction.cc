// rule: memory orders
// claim: constructing an atomic is a plain write: an atomic that is published relaxed races with its own loads
// expect: race write@a atomic-read@b
#include <atomic>
#include <new>

#include "../order.h"

alignas(8) char storage[8];
std::atomic<std::atomic<int>*> published{nullptr};

static void* maker(void*) {
  auto* made = new (storage) std::atomic<int>(7);  // @a
  published.store(made, std::memory_order_relaxed);
  return nullptr;
}

static void* user(void*) {
  std::atomic<int>* got;
  while ((got = published.load(std::memory_order_acquire)) == nullptr) doze(50);
  use(got->load());  // @b
  return nullptr;
}

int main() { run2(maker, user); }
