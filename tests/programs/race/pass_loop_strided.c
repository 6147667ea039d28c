// rule: loops
// claim: a strided walk races on the elements it touches
// expect: race write@a read@b
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

static void* values(void* _) {
  await(1);
  long sum = 0;
  for (int i = 0; i < count; i += 7) sum += items[i].key;  // @b
  use(sum);
  return NULL;
}

int main(void) { run2(keys, values); }
