// rule: memory orders
// claim: an atomic published by release may be used at once
// expect: nothing
#include <atomic>
#include <new>

#include "../order.h"

alignas(8) char storage[8];
std::atomic<std::atomic<int>*> published{nullptr};

static void* maker(void*) {
  auto* made = new (storage) std::atomic<int>(7);
  published.store(made, std::memory_order_release);
  return nullptr;
}

static void* user(void*) {
  std::atomic<int>* got;
  while ((got = published.load(std::memory_order_acquire)) == nullptr) doze(50);
  use(got->load());
  return nullptr;
}

int main() { run2(maker, user); }
