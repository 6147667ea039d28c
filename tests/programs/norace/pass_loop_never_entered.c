// rule: loops
// claim: an invariant access of a loop that never ran does not
// expect: nothing
// args: 0
#include "../order.h"

int shared = 5;
int array[10];
int rounds;

static void* walker(void* _) {
  for (int i = 0; i < rounds; i++) array[i] += shared;
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  shared = 6;
  return NULL;
}

int main(int argc, char** argv) {
  rounds = atoi(argv[1]);
  run2(walker, writer);
  return argc > 5;
}
