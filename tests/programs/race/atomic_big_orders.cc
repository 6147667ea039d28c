// rule: memory orders
// claim: atomics too big for an instruction: no store acquires, no load releases, a relaxed store ends a sequence, a compare-exchange that fails has its failure order
// flags: -Wno-atomic-alignment -latomic
// expect: race write@a read@b
// expect: race write@c read@d
// expect: race write@e read@f
// expect: race write@g read@h
#include "../order.h"

struct Big {
  long a, b, c;
};
int data[4];
Big object[4];

static void load(int i, int order) {
  Big value;
  __atomic_load(&object[i], &value, order);
  use(value.a);
}
static void store(int i, int order) {
  Big value{1, 2, 3};
  __atomic_store(&object[i], &value, order);
}
static void exchange(int i, int order) {
  Big value{1, 2, 3}, old;
  __atomic_exchange(&object[i], &value, &old, order);
  use(old.a);
}
static void fail_to_exchange(int i, int success, int failure) {
  Big expected{9, 9, 9}, value{1, 2, 3};
  use(__atomic_compare_exchange(&object[i], &expected, &value, false, success, failure));
}

static void* before_store(void*) {
  data[0] = 1;  // @a
  store(0, __ATOMIC_SEQ_CST);
  step();
  return nullptr;
}
static void* after_store(void*) {
  await(1);
  store(0, __ATOMIC_SEQ_CST);
  use(data[0]);  // @b
  return nullptr;
}

static void* before_load(void*) {
  data[1] = 1;  // @c
  load(1, __ATOMIC_SEQ_CST);
  step();
  return nullptr;
}
static void* after_load(void*) {
  await(2);
  load(1, __ATOMIC_SEQ_CST);
  use(data[1]);  // @d
  return nullptr;
}

static void* first_of_sequence(void*) {
  data[2] = 1;  // @e
  store(2, __ATOMIC_RELEASE);
  step();
  return nullptr;
}
static void* next_of_sequence(void*) {
  await(3);
  store(2, __ATOMIC_RELAXED);
  step();
  return nullptr;
}
static void* after_sequence(void*) {
  await(4);
  load(2, __ATOMIC_ACQUIRE);
  use(data[2]);  // @f
  return nullptr;
}

static void* before_failure(void*) {
  data[3] = 1;  // @g
  exchange(3, __ATOMIC_RELEASE);
  step();
  return nullptr;
}
static void* after_failure(void*) {
  await(5);
  fail_to_exchange(3, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  use(data[3]);  // @h
  return nullptr;
}

int main() {
  run2(before_store, after_store);
  run2(before_load, after_load);
  run3(first_of_sequence, next_of_sequence, after_sequence);
  run2(before_failure, after_failure);
}
