// rule: atomic wait
// claim: what the atomic's own operations order, and the barrier, is ordered
// flags: -std=c++20
// expect: nothing
#include <atomic>
#include <barrier>

#include "../order.h"

int data, other_data;
std::atomic<int> flag;
std::barrier both(2);

static void* waits(void*) {
  step();
  flag.wait(0, std::memory_order_acquire);
  data = 1;
  await(2);
  other_data = 1;
  auto arrival = both.arrive();
  step();
  both.wait(std::move(arrival));
  return nullptr;
}

static void* notifies(void*) {
  await(1);
  doze(50000);  // so that it really waits
  data = 2;
  flag.store(1, std::memory_order_release);
  flag.notify_all();
  step();
  await(3);
  doze(50000);
  both.arrive_and_wait();
  other_data = 2;
  return nullptr;
}

int main() { run2(waits, notifies); }
