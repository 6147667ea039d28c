// rule: stacks
// claim: a local of a loop's body that is read by a thread which is joined within its scope does not
// flags: -O2
// expect: nothing
#include "../order.h"

struct Words {
  long first;
  long second;
};

static void* reader(void* words) {
  use(((struct Words*)words)->first);
  step();
  return NULL;
}

int main(int argc, char** argv) {
  (void)argv;
  for (int round = 1; round <= argc + 1; ++round) {
    pthread_t t;
    {
      struct Words local = {round, round};
      pthread_create(&t, NULL, reader, &local);
      await(round);
      join(t);
    }
  }
}
