// rule: once
// claim: a function's static is initialised once and seen by all
// expect: nothing
#include <new>

#include "../order.h"

struct Table {
  int entries[8];
  Table() {
    for (int& entry : entries) entry = steps_so_far() + 1;
  }
};

static Table* table() {
  static Table made;
  return &made;
}

static void* first(void*) {
  use(table()->entries[2]);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(table()->entries[3]);
  return nullptr;
}

int main() { run2(first, second); }
