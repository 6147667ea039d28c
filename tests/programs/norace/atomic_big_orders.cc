// rule: memory orders
// claim: atomics too big for an instruction: a load acquires what a store releases, a relaxed exchange continues a sequence, a compare-exchange that fails may acquire
// expect: nothing
// flags: -Wno-atomic-alignment -latomic
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
  data[0] = 1;
  store(0, __ATOMIC_SEQ_CST);
  step();
  return nullptr;
}
static void* after_store(void*) {
  await(1);
  load(0, __ATOMIC_SEQ_CST);
  use(data[0]);
  return nullptr;
}

static void* before_load(void*) {
  data[1] = 1;
  store(1, __ATOMIC_SEQ_CST);
  step();
  return nullptr;
}
static void* after_load(void*) {
  await(2);
  load(1, __ATOMIC_SEQ_CST);
  use(data[1]);
  return nullptr;
}

static void* first_of_sequence(void*) {
  data[2] = 1;
  store(2, __ATOMIC_RELEASE);
  step();
  return nullptr;
}
static void* next_of_sequence(void*) {
  await(3);
  exchange(2, __ATOMIC_RELAXED);
  step();
  return nullptr;
}
static void* after_sequence(void*) {
  await(4);
  load(2, __ATOMIC_ACQUIRE);
  use(data[2]);
  return nullptr;
}

static void* before_failure(void*) {
  data[3] = 1;
  exchange(3, __ATOMIC_RELEASE);
  step();
  return nullptr;
}
static void* after_failure(void*) {
  await(5);
  fail_to_exchange(3, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  use(data[3]);
  return nullptr;
}

int main() {
  run2(before_store, after_store);
  run2(before_load, after_load);
  run3(first_of_sequence, next_of_sequence, after_sequence);
  run2(before_failure, after_failure);
}
