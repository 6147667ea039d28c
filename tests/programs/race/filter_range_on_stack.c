// rule: the exact filter
// claim: an array of a function's second call is looked at again, though it lies where the first one's was
// expect: race write@a write@b
// allow: race free@e write@b
#include "../order.h"

enum { kCount = 300 };
long* shared;

__attribute__((noinline)) static void fill(long* block) {
  for (int i = 0; i < kCount; i++) block[i] = i;  // @a
}

__attribute__((noinline)) static void call(int give) {
  long local[kCount];
  fill(local);
  if (give) {
    __asm__ volatile("movq %1, %0" : "=m"(shared) : "r"(&local[0]) : "memory");
    step();
    await(2);
  }
  use(local[7]);
}  // @e

static void* owner(void* _) {
  call(0);
  call(1);
  return NULL;
}

static void* other(void* _) {
  await(1);
  long* theirs;
  __asm__ volatile("movq %1, %0" : "=r"(theirs) : "m"(shared));
  theirs[99] = 0;  // @b
  step();
  return NULL;
}

int main(void) { run2(owner, other); }
