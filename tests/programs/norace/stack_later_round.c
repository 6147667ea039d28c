// rule: stacks
// claim: what it held in the rounds before is not what the other thread reads, if the round was handed over in order
// expect: nothing
#include "../order.h"

struct Words {
  long first;
  long second;
};

static struct Words* handed_over;
static int is_there;
static int is_read;

static void* reader(void* unused) {
  await(1);
  while (!__atomic_load_n(&is_there, __ATOMIC_ACQUIRE)) {
  }
  use(handed_over->first);
  handed_over->first = 0;
  __atomic_store_n(&is_read, 1, __ATOMIC_RELEASE);
  return unused;
}

__attribute__((noinline)) static void look_at(struct Words* words, int round) {
  use(words->second);
  if (round != 3) return;
  handed_over = words;
  __atomic_store_n(&is_there, 1, __ATOMIC_RELEASE);
  step();
  while (!__atomic_load_n(&is_read, __ATOMIC_ACQUIRE)) {
  }
}

int main(void) {
  pthread_t t;
  pthread_create(&t, NULL, reader, NULL);
  for (int round = 1; round <= 4; ++round) {
    struct Words local = {round, round};
    look_at(&local, round);
  }
  join(t);
}
