// rule: loops
// claim: a strided walk does not touch what lies between
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

static void* values(void* _) {
  await(1);
  for (int i = 0; i < count; i++) items[i].value = i;
  return NULL;
}

int main(void) { run2(keys, values); }
