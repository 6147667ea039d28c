// rule: bytes
// claim: what an atomic of 16 or 24 bytes releases includes all of itself, loading it is no write, and who has a buffer of their own shares nothing
// expect: nothing
// flags: -mcx16 -Wno-atomic-alignment -latomic
#include "../order.h"

struct Big {
  long a, b, c;
};
Big object;
union {
  unsigned __int128 whole;
  long half[2];
} sixteen;
Big buffer;
enum { kStore = __ATOMIC_RELEASE };

static void* store(void*) {
  Big value{1, 2, 3};
  __atomic_store(&object, &value, kStore);
  unsigned __int128 zero = 0;
  __atomic_compare_exchange_n(&sixteen.whole, &zero, 1, false, kStore, __ATOMIC_RELAXED);
  step();
  return nullptr;
}
static void* read_the_end(void*) {
  await(1);
  Big value;
  __atomic_load(&object, &value, __ATOMIC_ACQUIRE);
  use(static_cast<long>(__atomic_fetch_add(&sixteen.whole, 0, __ATOMIC_ACQUIRE)));
  use(object.c);
  use(sixteen.half[1]);
  return nullptr;
}

static void* load(void*) {
  Big own;
  Big* const to = &own;
  __atomic_load(&object, to, __ATOMIC_RELAXED);
  step();
  return nullptr;
}
static void* read_buffer(void*) {
  await(2);
  use(buffer.c);
  use(object.c);
  return nullptr;
}

static void* store_buffer(void*) {
  Big own{1, 2, 3};
  Big* const from = &own;
  __atomic_store(&object, from, __ATOMIC_RELAXED);
  step();
  return nullptr;
}
static void* write_buffer(void*) {
  await(3);
  buffer.c = 1;
  return nullptr;
}

int main() {
  run2(store, read_the_end);
  run2(load, read_buffer);
  run2(store_buffer, write_buffer);
}
