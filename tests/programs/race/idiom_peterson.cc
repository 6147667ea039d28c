// rule: idioms
// claim: Peterson's lock with plain variables races on everything
// expect: race any@a any@a
// allow: race any@b any@b
#include <atomic>

#include "../order.h"

volatile int interested[2], turn;
long counter;

static void run(int me) {
  for (int i = 0; i < 30; i++) {
    interested[me] = 1;                              // @b
    turn = 1 - me;                                   // @b
    while (interested[1 - me] && turn == 1 - me) doze(10);  // @b
    counter++;  // @a
    interested[me] = 0;  // @b
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
