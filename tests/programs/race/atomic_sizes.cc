// rule: memory orders
// claim: relaxed atomics of 1, 2, 4, 8 and 16 bytes order nothing
// flags: -mcx16
// expect: race write@a read@b
// expect: race write@c read@d
// expect: race write@e read@f
// expect: race write@g read@h
// expect: race write@i read@j
#include "../order.h"

int data[5];
uint8_t flag1;
uint16_t flag2;
uint32_t flag4;
uint64_t flag8;
unsigned __int128 flag16;
enum { kStore = __ATOMIC_RELAXED };

static void* writer(void*) {
  data[0] = 1;  // @a
  __atomic_store_n(&flag1, 1, kStore);
  data[1] = 1;  // @c
  __atomic_store_n(&flag2, 1, kStore);
  data[2] = 1;  // @e
  __atomic_store_n(&flag4, 1, kStore);
  data[3] = 1;  // @g
  __atomic_store_n(&flag8, 1, kStore);
  data[4] = 1;  // @i
  unsigned __int128 zero = 0;
  __atomic_compare_exchange_n(&flag16, &zero, 1, false, kStore, __ATOMIC_RELAXED);
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(__atomic_load_n(&flag1, __ATOMIC_ACQUIRE));
  use(data[0]);  // @b
  use(__atomic_load_n(&flag2, __ATOMIC_ACQUIRE));
  use(data[1]);  // @d
  use(__atomic_load_n(&flag4, __ATOMIC_ACQUIRE));
  use(data[2]);  // @f
  use(__atomic_load_n(&flag8, __ATOMIC_ACQUIRE));
  use(data[3]);  // @h
  use(static_cast<long>(__atomic_fetch_add(&flag16, 1, __ATOMIC_ACQUIRE)));
  use(data[4]);  // @j
  return nullptr;
}

int main() { run2(writer, reader); }
