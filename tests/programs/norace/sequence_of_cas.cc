// rule: release sequences
// claim: relaxed compare-exchanges of several threads continue a release sequence
// expect: nothing
#include <atomic>

#include "../order.h"

int data;
std::atomic<int> flag{0};

static void advance(int from) {
  await(from);
  int expected = from;
  if (!flag.compare_exchange_strong(expected, from + 1, std::memory_order_relaxed)) abort();
  step();
}

static void* second(void*) {
  advance(1);
  return nullptr;
}

static void* third(void*) {
  advance(2);
  return nullptr;
}

static void* last(void*) {
  await(3);
  if (flag.load(std::memory_order_acquire) != 3) abort();
  use(data);
  return nullptr;
}

static void* first(void*) {
  data = 1;
  flag.store(1, std::memory_order_release);
  step();
  return nullptr;
}

int main() {
  pthread_t one = start(first);
  run3(second, third, last);
  join(one);
}
