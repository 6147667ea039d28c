// rule: annotations
// claim: a hand-made lock that is not annotated protects nothing that a detector could see
// expect: race any@a any@a
#include <sanitizer/tsan_interface.h>

#include "../order.h"

long counter;
int taken;

UNSEEN static bool try_take() {
  int was = 1;
  asm volatile("xchgl %0, %1" : "+r"(was), "+m"(taken) : : "memory");
  return was == 0;
}
UNSEEN static void give() { asm volatile("movl $0, %0" : "=m"(taken) : : "memory"); }

static void lock() {
  while (!try_take()) doze(20);
}

static void unlock() {
  give();
}

static void* worker(void*) {
  for (int i = 0; i < 100; i++) {
    lock();
    counter++;  // @a
    unlock();
  }
  return nullptr;
}

int main() {
  run2(worker, worker);
}
