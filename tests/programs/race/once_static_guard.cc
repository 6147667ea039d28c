// rule: once
// claim: a hand-made guard races, on the guard and on what it guards
// expect: race any@a read@b
// expect: race write@c read@d
#include <new>

#include "../order.h"

struct Table {
  int entries[8];
  Table() {
    for (int& entry : entries) entry = steps_so_far() + 1;  // @c
  }
};

alignas(Table) char storage[sizeof(Table)];
bool made;

static Table* table() {
  if (!made) {  // @b
    new (storage) Table;
    made = true;  // @a
  }
  return reinterpret_cast<Table*>(storage);
}

static void* first(void*) {
  use(table()->entries[2]);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(table()->entries[3]);  // @d
  return nullptr;
}

int main() { run2(first, second); }
