// rule: memory orders
// claim: a relaxed operation knows on which side of a location's first release it stands, however close they are
// expect: nothing
#include "../order.h"

enum { kRounds = 10000 };

int data[kRounds], message[kRounds];
_Atomic int counter[kRounds], flag[kRounds];
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
    data[i] = 1;
    message[i] = 1;
    meet(0, i);
    __c11_atomic_fetch_add(&counter[i], 100, __ATOMIC_RELEASE);
    __c11_atomic_store(&flag[i], 2, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void* relaxes(void* _) {
  int found = 0;
  for (int i = 0; i < kRounds; i++) {
    meet(1, i);
    int before = __c11_atomic_fetch_add(&counter[i], 1, __ATOMIC_RELAXED);
    __c11_atomic_store(&flag[i], 1, __ATOMIC_RELAXED);
    if (__c11_atomic_load(&flag[i], __ATOMIC_ACQUIRE) == 2) found += message[i];
    if (before < 100) continue;
    __c11_atomic_thread_fence(__ATOMIC_ACQUIRE);
    found += data[i];
  }
  __c11_atomic_store(&seen, found, __ATOMIC_RELAXED);
  return NULL;
}

int main(void) { run2(releases, relaxes); }
