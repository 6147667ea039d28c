// rule: memory orders
// claim: an atomic that carried nothing so far carries what is released to it, and relaxed counting keeps it
// expect: nothing
#include "../order.h"

int data;
_Atomic int counter;

static void* counts(void* _) {
  for (int i = 0; i < 100; i++) __c11_atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  data = 1;
  __c11_atomic_fetch_add(&counter, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 100; i++) __c11_atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  step();
  return NULL;
}

static void* looks(void* _) {
  await(1);
  if (__c11_atomic_load(&counter, __ATOMIC_ACQUIRE) == 201) use(data);
  return NULL;
}

int main(void) { run2(counts, looks); }
