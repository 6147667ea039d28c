// rule: allocation
// claim: a realloc that moves the block frees the old one, and races with an unordered read of it
// expect: race read@a free@b
#include "../order.h"

char* block;

static void* reader(void* _) {
  use(block[5]);  // @a
  step();
  return NULL;
}

int main(void) {
  block = malloc(32);
  block[5] = 1;
  char* wall = malloc(32);
  pthread_t t = start(reader);
  await(1);
  char* moved = realloc(block, 100000);  // @b
  moved[5] = 2;
  use(*(volatile char*)&moved[5]);
  free(moved);
  free(wall);
  join(t);
}
