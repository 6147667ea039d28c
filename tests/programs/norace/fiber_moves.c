// rule: fibers
// claim: a fiber takes its own past along to another thread
// expect: nothing
#include <ucontext.h>

#include "../order.h"

void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);

#include <semaphore.h>

void *fiber, *home_fiber;
ucontext_t context, home_context;
int own, data;
sem_t ready;
char stack[1 << 16];

static void leave(void) {
  __tsan_switch_to_fiber(home_fiber, 0);
  swapcontext(&context, &home_context);
}

static void body(void) {
  own = 1;
  leave();
  own = 2;
  data = 2;
  leave();
}

static void resume(void) {
  home_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber, 0);
  swapcontext(&home_context, &context);
}

static void* first(void* _) {
  resume();
  data = 1;
  sem_post(&ready);
  step();
  return NULL;
}

static void* second(void* _) {
  sem_wait(&ready);
  await(1);
  resume();
  return NULL;
}

int main(void) {
  sem_init(&ready, 0, 0);
  fiber = __tsan_create_fiber(0);
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  makecontext(&context, body, 0);
  run2(first, second);
  __tsan_destroy_fiber(fiber);
}
