// rule: code shapes
// claim: a load on the path that was taken races
// args: 1
// expect: race read@a write@b
#include "../order.h"

int data = 3, wanted, result;
char which[64];

static void* reader(void* _) {
  int sum = 0;
  if (wanted) sum = data;  // @a
  for (int i = 0; i < 64; i++) {
    if (which[i]) sum += data;  // @a
  }
  result = sum;
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  data = 4;  // @b
  return NULL;
}

int main(int argc, char** argv) {
  wanted = which[7] = (char)atoi(argv[argc - 1]);
  run2(reader, writer);
}
