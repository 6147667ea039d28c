// rule: code shapes
// claim: a variable that a loop changes now and then is not read before the loop, where the loop changes nothing
// expect: nothing
// args: 0
#include "../order.h"

int errors;
char which[64];

static void* counter(void* _) {
  for (int i = 0; i < 64; i++) {
    if (which[i]) errors++;
  }
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  errors = 4;
  return NULL;
}

int main(int argc, char** argv) {
  which[7] = (char)atoi(argv[argc - 1]);
  run2(counter, writer);
}
