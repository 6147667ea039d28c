// rule: C++20 synchronisation
// claim: what comes after count_down is not ordered by the latch
// flags: -std=c++20
// expect: race write@a read@b
#include <latch>
#include <thread>

#include "../order.h"

int data[2];
std::latch latch{2};

static void count(int i) {
  latch.count_down();
  data[i] = 1;  // @a
  step();
}

int main() {
  std::thread first(count, 0), second(count, 1);
  latch.wait();
  await(2);
  use(data[0]);  // @b
  use(data[1]);  // @b
  first.join();
  second.join();
}
