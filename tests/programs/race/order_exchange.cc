// rule: memory orders
// claim: a relaxed exchange hands nothing over
// expect: race write@a write@b
#include <atomic>

#include "../order.h"

long data;
std::atomic<int> baton{0};
constexpr auto kOrder = std::memory_order_relaxed;

static void* first(void*) {
  data = 1;  // @a
  baton.exchange(1, kOrder);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  if (baton.exchange(2, kOrder) != 1) abort();
  data = 2;  // @b
  return nullptr;
}

int main() { run2(first, second); }
