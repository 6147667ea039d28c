// rule: memory orders
// claim: an acquire-release exchange takes over what an earlier one left
// expect: nothing
#include <atomic>

#include "../order.h"

long data;
std::atomic<int> baton{0};
constexpr auto kOrder = std::memory_order_acq_rel;

static void* first(void*) {
  data = 1;
  baton.exchange(1, kOrder);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  if (baton.exchange(2, kOrder) != 1) abort();
  data = 2;
  return nullptr;
}

int main() { run2(first, second); }
