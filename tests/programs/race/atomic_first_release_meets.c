// rule: memory orders
// claim: a relaxed store ends what the location's first release carried, however close they are
// expect: race write@a read@b
#include "../order.h"

enum { kRounds = 10000 };

int message[kRounds];
_Atomic int flag[kRounds];
_Atomic int seen;

// Both are at the same location at the same time, as far as nobody else needs the processor.
static int arrived[2];
UNSEEN static void meet(int which, int round) {
  __atomic_store_n(&arrived[which], round + 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 200 && __atomic_load_n(&arrived[1 - which], __ATOMIC_SEQ_CST) <= round; i++)
    __asm__ volatile("pause");
}

static void* releases(void* _) {
  for (int i = 0; i < kRounds; i++) {
    message[i] = 1;  // @a
    meet(0, i);
    __c11_atomic_store(&flag[i], 2, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void* relaxes(void* _) {
  int found = 0;
  for (int i = 0; i < kRounds; i++) {
    meet(1, i);
    __c11_atomic_store(&flag[i], 1, __ATOMIC_RELAXED);
    // One or the other: its own value is no message.
    if (__c11_atomic_load(&flag[i], __ATOMIC_ACQUIRE) == 1) found += message[i];  // @b
  }
  __c11_atomic_store(&seen, found, __ATOMIC_RELAXED);
  return NULL;
}

int main(void) { run2(releases, relaxes); }
