// rule: code shapes
// claim: a load the compiler would like to do early, on a path that was not taken, is not invented
// expect: nothing
// args: 0
#include "../order.h"

int data = 3, wanted, result;
char which[64];

static void* reader(void* _) {
  int sum = 0;
  if (wanted) sum = data;
  for (int i = 0; i < 64; i++) {
    if (which[i]) sum += data;
  }
  result = sum;
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  data = 4;
  return NULL;
}

int main(int argc, char** argv) {
  wanted = which[7] = (char)atoi(argv[argc - 1]);
  run2(reader, writer);
}
