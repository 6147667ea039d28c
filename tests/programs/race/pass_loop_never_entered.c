// rule: loops
// claim: an invariant access of a loop that ran once races
// args: 1
// expect: race read@a write@b
#include "../order.h"

int shared = 5;
int array[10];
int rounds;

static void* walker(void* _) {
  for (int i = 0; i < rounds; i++) array[i] += shared;  // @a
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  shared = 6;  // @b
  return NULL;
}

int main(int argc, char** argv) {
  rounds = atoi(argv[1]);
  run2(walker, writer);
  return argc > 5;
}
