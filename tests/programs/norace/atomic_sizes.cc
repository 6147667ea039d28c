// rule: memory orders
// claim: atomics of 1, 2, 4, 8 and 16 bytes order alike
// expect: nothing
// flags: -mcx16
#include "../order.h"

int data[5];
uint8_t flag1;
uint16_t flag2;
uint32_t flag4;
uint64_t flag8;
unsigned __int128 flag16;
enum { kStore = __ATOMIC_RELEASE };

static void* writer(void*) {
  data[0] = 1;
  __atomic_store_n(&flag1, 1, kStore);
  data[1] = 1;
  __atomic_store_n(&flag2, 1, kStore);
  data[2] = 1;
  __atomic_store_n(&flag4, 1, kStore);
  data[3] = 1;
  __atomic_store_n(&flag8, 1, kStore);
  data[4] = 1;
  unsigned __int128 zero = 0;
  __atomic_compare_exchange_n(&flag16, &zero, 1, false, kStore, __ATOMIC_RELAXED);
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(__atomic_load_n(&flag1, __ATOMIC_ACQUIRE));
  use(data[0]);
  use(__atomic_load_n(&flag2, __ATOMIC_ACQUIRE));
  use(data[1]);
  use(__atomic_load_n(&flag4, __ATOMIC_ACQUIRE));
  use(data[2]);
  use(__atomic_load_n(&flag8, __ATOMIC_ACQUIRE));
  use(data[3]);
  use(static_cast<long>(__atomic_fetch_add(&flag16, 1, __ATOMIC_ACQUIRE)));
  use(data[4]);
  return nullptr;
}

int main() { run2(writer, reader); }
