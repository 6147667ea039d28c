// rule: signals
// claim: a handler of an atomic operation's fault may make the memory accessible and return, or jump away
// expect: nothing
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "../order.h"

enum { kPage = 4096, kRounds = 200 };

static char* page;
static int* counter;
static sigjmp_buf back;
static volatile int jumps;
static int returned;

// The pages of a collector: made accessible where somebody needs them.
static void on_fault(int signal, siginfo_t* info, void* _) {
  if (jumps) siglongjmp(back, 1);
  if ((char*)info->si_addr < page || (char*)info->si_addr >= page + kPage) abort();
  // The handler is the program's code: it has atomics of its own.
  __atomic_fetch_add(&returned, 1, __ATOMIC_ACQ_REL);
  if (mprotect(page, kPage, PROT_READ | PROT_WRITE) != 0) abort();
}

static void protect(void) {
  if (mprotect(page, kPage, PROT_NONE) != 0) abort();
}

static void count(void) {
  int expected;
  protect();
  __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
  protect();
  expected = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
  protect();
  __atomic_store_n(counter, expected + 1, __ATOMIC_RELEASE);
  protect();
  expected++;
  if (!__atomic_compare_exchange_n(counter, &expected, expected + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) abort();
}

// Is there memory? Nothing is, and the operation never was.
static void ask(int operation) {
  int expected = 0;
  protect();
  jumps = 1;
  if (sigsetjmp(back, 1) == 0) {
    switch (operation % 4) {
      case 0: __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL); break;
      case 1: use(__atomic_load_n(counter, __ATOMIC_ACQUIRE)); break;
      case 2: __atomic_store_n(counter, 1, __ATOMIC_RELEASE); break;
      case 3: __atomic_compare_exchange_n(counter, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); break;
    }
    abort();
  }
  jumps = 0;
}

static void* counts(void* _) {
  for (int round = 0; round < kRounds; round++) {
    count();
    ask(round);
  }
  return NULL;
}

// So that nobody is ever alone.
static void* stands_by(void* _) {
  await(1);
  return NULL;
}

int main(void) {
  pthread_t other = start(stands_by);
  page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGSEGV, &action, NULL) != 0) abort();
  // One after the other, each with the granule as the other one left it.
  for (int offset = 0; offset < 64; offset += 32) {
    counter = (int*)(page + offset);
    join(start(counts));
    join(start(counts));
    counts(NULL);
    protect();
    if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) != 3 * 3 * kRounds) abort();
  }
  if (__atomic_load_n(&returned, __ATOMIC_ACQUIRE) < 2 * 3 * 4 * kRounds) abort();
  step();
  join(other);
}
