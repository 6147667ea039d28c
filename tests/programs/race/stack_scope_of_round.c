// rule: stacks
// claim: a local of a loop's body whose scope ends while a thread still reads it races with that end, though the thread is joined before the next round
// flags: -O2
// expect: race read@a any@b
#include "../order.h"

struct Words {
  long first;
  long second;
};

static void* reader(void* words) {
  use(((struct Words*)words)->first);  // @a
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
    }  // @b
    join(t);
  }
}
