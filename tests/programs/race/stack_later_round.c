// rule: stacks
// claim: a local that a loop makes anew in every round, handed over in a later one without any order, races with its initialisation
// expect: race read@a write@b
#include "../order.h"

struct Words {
  long first;
  long second;
};

static const struct Words* handed_over;

UNSEEN static void hand_over(const struct Words* words) { __asm__ volatile("movq %1, %0" : "=m"(handed_over) : "r"(words)); }
UNSEEN static const struct Words* take(void) {
  const struct Words* words;
  __asm__ volatile("movq %1, %0" : "=r"(words) : "m"(handed_over));
  return words;
}

static void* reader(void* unused) {
  await(1);
  use(take()->first);  // @a
  step();
  return unused;
}

__attribute__((noinline)) static void look_at(const struct Words* words, int round) {
  use(words->second);
  if (round < 3) return;
  hand_over(words);
  step();
  await(2);
}

int main(void) {
  pthread_t t;
  pthread_create(&t, NULL, reader, NULL);
  for (int round = 1; round <= 3; ++round) {
    struct Words local = {round, round};  // @b
    look_at(&local, round);
  }
  join(t);
}
