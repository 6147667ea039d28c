// rule: allocation
// claim: what a block has beyond what was asked for is the program's as soon as it has asked: two threads race there as elsewhere, and with the end of the block
// expect: race write@a free@b
#include <malloc.h>

#include "../order.h"

static char* volatile block;

static void* writes(void* _) {
  block[malloc_usable_size(block) - 1] = 1;  // @a
  step();
  return NULL;
}

static void* gives_back(void* _) {
  await(1);
  free(block);  // @b
  return NULL;
}

int main(void) {
  block = malloc(1985);
  malloc_usable_size(block);
  run2(writes, gives_back);
}
