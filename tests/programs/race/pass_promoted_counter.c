// rule: code shapes
// claim: a variable that a loop changes once races with a write after the loop
// expect: race write@a write@b
// args: 1
#include "../order.h"

int errors;
char which[64];

static void* counter(void* _) {
  for (int i = 0; i < 64; i++) {
    if (which[i]) errors++;  // @a
  }
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  errors = 4;  // @b
  return NULL;
}

int main(int argc, char** argv) {
  which[7] = (char)atoi(argv[argc - 1]);
  run2(counter, writer);
}
