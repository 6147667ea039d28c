// rule: contexts
// claim: a context that another thread goes on with takes no order along
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
#include <ucontext.h>

#include "../order.h"

int data;
ucontext_t context, first_thread, second_thread;
static char stack[65536];

// Each on a frame of its own, below which the context moves.
__attribute__((noinline)) static void in_first_thread(void) {
  data = 1;  // @a
  swapcontext(&context, &first_thread);
}

static void body(void) {
  in_first_thread();
  use(data);  // @b
  swapcontext(&context, &second_thread);
}

static void* first(void* _) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  context.uc_link = NULL;
  makecontext(&context, body, 0);
  swapcontext(&first_thread, &context);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  swapcontext(&second_thread, &context);
  return NULL;
}

int main(void) { run2(first, second); }
