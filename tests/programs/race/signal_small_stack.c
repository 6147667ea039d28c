// rule: signals
// claim: a race in a handler is told where the handler has 2 KiB of alternate stack
// flags: -D_GNU_SOURCE
// expect: race write@a write@b
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../order.h"

// What the kernel's own frame takes, and 2 KiB below it; nothing below that.
enum { kRoom = 2048, kGuard = 65536 };

volatile int data;
volatile int others[64];
volatile int on_it;
static char* low;
static size_t size;

static void handler(int signal) {
  char here;
  on_it = &here >= low && &here < low + size;
  data = signal;  // @a
  for (int i = 0; i < 64; ++i) others[i] = i;
}

static void* interrupted(void* _) {
  size = (size_t)sysconf(_SC_MINSIGSTKSZ) + kRoom;
  char* guarded = mmap(NULL, kGuard * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (guarded == MAP_FAILED || mprotect(guarded + kGuard, kGuard, PROT_READ | PROT_WRITE) != 0) abort();
  // As near to the guard as its end on a page lets it.
  size_t unused = (size + 4095) / 4096 * 4096 - size;
  low = guarded + kGuard + unused;
  memset(guarded + kGuard, 0x5a, unused);
  stack_t stack = {.ss_sp = low, .ss_size = size};
  if (sigaltstack(&stack, NULL) != 0) abort();
  await(1);
  raise(SIGUSR1);
  if (!on_it) abort();
  for (size_t i = 0; i < unused; ++i)
    if (guarded[kGuard + i] != 0x5a) abort();
  step();
  return NULL;
}

static void* other(void* _) {
  data = 1;  // @b
  step();
  await(2);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  run2(interrupted, other);
}
