// rule: annotations
// claim: the __tsan_mutex_ calls make a hand-made lock a lock
// expect: nothing
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
  __tsan_mutex_pre_lock(&taken, 0);
  while (!try_take()) doze(20);
  __tsan_mutex_post_lock(&taken, 0, 0);
}

static void unlock() {
  __tsan_mutex_pre_unlock(&taken, 0);
  give();
  __tsan_mutex_post_unlock(&taken, 0);
}

static void* worker(void*) {
  for (int i = 0; i < 100; i++) {
    lock();
    counter++;
    unlock();
  }
  return nullptr;
}

int main() {
  __tsan_mutex_create(&taken, __tsan_mutex_not_static);
  run2(worker, worker);
  __tsan_mutex_destroy(&taken, 0);
}
