// rule: allocation
// claim: after a realloc the new block is the caller's own, and the old address is nobody's
// expect: nothing
#include "../order.h"

char* block;

static void* reader(void* _) {
  use(block[5]);
  step();
  return NULL;
}

int main(void) {
  block = malloc(32);
  block[5] = 1;
  char* wall = malloc(32);
  pthread_t t = start(reader);
  await(1);
  join(t);
  char* moved = realloc(block, 100000);
  moved[5] = 2;
  use(*(volatile char*)&moved[5]);
  free(moved);
  free(wall);
}
