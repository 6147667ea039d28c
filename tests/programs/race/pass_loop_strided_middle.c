// rule: loops
// claim: one element in the middle of a strided walk races with it
// expect: race write@a write@b
#include "../order.h"

struct Item {
  int key, value;
} items[500];
int count = 500;

static void* keys(void* _) {
  for (int i = 0; i < count; i++) items[i].key = i;  // @a
  step();
  return NULL;
}

static void* one(void* _) {
  await(1);
  items[250].key = 7;  // @b
  return NULL;
}

int main(void) { run2(keys, one); }
