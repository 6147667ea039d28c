// rule: loops
// claim: what lies between two elements of a strided walk is another thread's own
// expect: nothing
#include "../order.h"

struct Item {
  int key, value;
} items[500];
int count = 500;

static void* keys(void* _) {
  for (int i = 0; i < count; i++) items[i].key = i;
  step();
  return NULL;
}

static void* one(void* _) {
  await(1);
  items[250].value = 7;
  return NULL;
}

int main(void) { run2(keys, one); }
