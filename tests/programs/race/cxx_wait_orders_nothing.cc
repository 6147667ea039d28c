// rule: atomic wait
// claim: a wait and a notification order nothing beyond the atomic's own operations, whatever they do inside
// flags: -std=c++20
// expect: race write@a write@b
// expect: race write@c write@d
#include <atomic>
#include <barrier>

#include "../order.h"

int data, other_data;
std::atomic<int> flag;
std::barrier both(2);

static void* waits(void*) {
  data = 1;  // @a
  step();
  flag.wait(0, std::memory_order_relaxed);
  await(2);
  auto arrival = both.arrive();
  other_data = 1;  // @c
  step();
  both.wait(std::move(arrival));
  return nullptr;
}

static void* notifies(void*) {
  await(1);
  doze(50000);  // so that it really waits
  flag.store(1, std::memory_order_relaxed);
  flag.notify_all();
  data = 2;  // @b
  step();
  await(3);
  doze(50000);
  both.arrive_and_wait();
  other_data = 2;  // @d
  return nullptr;
}

int main() { run2(waits, notifies); }
