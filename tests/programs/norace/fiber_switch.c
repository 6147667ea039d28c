// rule: fibers
// claim: a switch orders one fiber before the next
// expect: nothing
#include <ucontext.h>

#include "../order.h"

void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);

// What has its own stack, and how to get there.
typedef struct {
  void* fiber;
  ucontext_t context;
} Place;

Place home, away;
int data;
char stack[1 << 16];

static void go(Place* from, Place* to) {
  __tsan_switch_to_fiber(to->fiber, 0);
  swapcontext(&from->context, &to->context);
}

static void body(void) {
  for (;;) {
    data++;
    go(&away, &home);
  }
}

int main(void) {
  home.fiber = __tsan_get_current_fiber();
  away.fiber = __tsan_create_fiber(0);
  __tsan_set_fiber_name(away.fiber, "away");
  getcontext(&away.context);
  away.context.uc_stack.ss_sp = stack;
  away.context.uc_stack.ss_size = sizeof stack;
  makecontext(&away.context, body, 0);
  for (int i = 0; i < 3; i++) {
    data = 1;
    go(&home, &away);
  }
  __tsan_destroy_fiber(away.fiber);
}
