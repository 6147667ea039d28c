// rule: memory orders
// claim: an atomic that only ever carried nothing starts to carry with the first release, not before
// expect: race write@a read@b
#include "../order.h"

int data;
_Atomic int counter;

static void* counts(void* _) {
  data = 1;  // @a
  for (int i = 0; i < 100; i++) __c11_atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  step();
  await(2);
  __c11_atomic_fetch_add(&counter, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void* looks(void* _) {
  await(1);
  if (__c11_atomic_load(&counter, __ATOMIC_ACQUIRE) >= 100) use(data);  // @b
  step();
  return NULL;
}

int main(void) { run2(counts, looks); }
