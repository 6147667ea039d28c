// rule: contexts
// claim: after thousands of contexts that ended, or were left for good, what is ordered is so as ever
// flags: -D_GNU_SOURCE
// expect: nothing
#include <ucontext.h>

#include "../order.h"

enum { kContexts = 100000, kStack = 16384 };

_Atomic int data;
static ucontext_t context, caller;

__attribute__((noinline)) static int deep(int depth) {
  if (depth > 0) return deep(depth - 1) + 1;
  swapcontext(&context, &caller);
  return 0;
}

static void body(int depth) { use(deep(depth)); }

__attribute__((noinline)) static void make(char* stack, int depth) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStack;
  context.uc_link = &caller;
  makecontext(&context, (void (*)(void))body, 1, depth);
  swapcontext(&caller, &context);
}

static void* switching(void* _) {
  static char again[kStack];
  char here[kStack];
  char* held = malloc(kStack);
  for (int i = 0; i < kContexts; ++i) {
    // Left in the middle, on a stack that is used again, one that is freed, and one inside of this one.
    make(again, i % 20);
    make(here, i % 3);
    char* stack = malloc(kStack);
    make(stack, i % 10);
    if (i % 2 == 0) swapcontext(&caller, &context);  // or to its end
    free(held);
    held = stack;
  }
  free(held);
  data = 1;
  step();
  await(2);
  return NULL;
}

static void* other(void* _) {
  await(1);
  data = 2;
  step();
  return NULL;
}

int main(void) { run2(switching, other); }
