// rule: idioms
// claim: Peterson's lock with sequentially consistent atomics protects
// expect: nothing
#include <atomic>

#include "../order.h"

std::atomic<int> interested[2], turn;
long counter;

static void run(int me) {
  for (int i = 0; i < 30; i++) {
    interested[me] = 1;
    turn = 1 - me;
    while (interested[1 - me] && turn == 1 - me) doze(10);
    counter++;
    interested[me] = 0;
  }
}

static void* first(void*) {
  run(0);
  return nullptr;
}

static void* second(void*) {
  run(1);
  return nullptr;
}

int main() { run2(first, second); }
