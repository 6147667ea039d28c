// rule: bytes
// claim: all of an atomic of 16 or 24 bytes is written, and the buffers that it is copied from and to are plain
// flags: -mcx16 -Wno-atomic-alignment -latomic
// expect: race atomic-write@a read@b
// expect: race atomic-write@c read@d
// expect: race write@e read@f
// expect: race read@g write@h
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
enum { kStore = __ATOMIC_RELAXED };

static void* store(void*) {
  Big value{1, 2, 3};
  __atomic_store(&object, &value, kStore);  // @a
  unsigned __int128 zero = 0;
  __atomic_compare_exchange_n(&sixteen.whole, &zero, 1, false, kStore, __ATOMIC_RELAXED);  // @c
  step();
  return nullptr;
}
static void* read_the_end(void*) {
  await(1);
  Big value;
  __atomic_load(&object, &value, __ATOMIC_ACQUIRE);
  use(static_cast<long>(__atomic_fetch_add(&sixteen.whole, 0, __ATOMIC_ACQUIRE)));
  use(object.c);         // @b
  use(sixteen.half[1]);  // @d
  return nullptr;
}

static void* load(void*) {
  Big* const to = &buffer;
  __atomic_load(&object, to, __ATOMIC_RELAXED);  // @e
  step();
  return nullptr;
}
static void* read_buffer(void*) {
  await(2);
  use(buffer.c);  // @f
  use(object.c);
  return nullptr;
}

static void* store_buffer(void*) {
  Big* const from = &buffer;
  __atomic_store(&object, from, __ATOMIC_RELAXED);  // @g
  step();
  return nullptr;
}
static void* write_buffer(void*) {
  await(3);
  buffer.c = 1;  // @h
  return nullptr;
}

int main() {
  run2(store, read_the_end);
  run2(load, read_buffer);
  run2(store_buffer, write_buffer);
}
