// rule: C++20 synchronisation
// claim: a latch orders all that came before the counts
// expect: nothing
// flags: -std=c++20
#include <latch>
#include <thread>

#include "../order.h"

int data[2];
std::latch latch{2};

static void count(int i) {
  data[i] = 1;
  latch.count_down();
  step();
}

int main() {
  std::thread first(count, 0), second(count, 1);
  latch.wait();
  await(2);
  use(data[0]);
  use(data[1]);
  first.join();
  second.join();
}
