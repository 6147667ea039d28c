// rule: memory orders
// claim: every kind of read-modify-write hands over: add, sub, and, or, xor, nand
// expect: nothing
#include "../order.h"

int data;
unsigned word = 1;

static void* first(void*) {
  data = 1;
  __atomic_fetch_add(&word, 1, __ATOMIC_RELEASE);
  step();
  await(2);
  __atomic_fetch_and(&word, 6, __ATOMIC_ACQUIRE);
  data = 3;
  __atomic_fetch_xor(&word, 1, __ATOMIC_RELEASE);
  step();
  await(4);
  __atomic_fetch_or(&word, 8, __ATOMIC_ACQ_REL);
  data = 5;
  return nullptr;
}

static void* second(void*) {
  await(1);
  __atomic_fetch_sub(&word, 1, __ATOMIC_ACQUIRE);
  data = 2;
  __atomic_fetch_or(&word, 4, __ATOMIC_RELEASE);
  step();
  await(3);
  __atomic_fetch_nand(&word, 3, __ATOMIC_ACQ_REL);
  data = 4;
  __atomic_fetch_add(&word, 3, __ATOMIC_RELEASE);
  step();
  return nullptr;
}

int main() { run2(first, second); }
