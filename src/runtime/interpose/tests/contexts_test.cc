// Contexts: what libc does with them stays as it is, and the lane hears where a thread goes on.
#include <ucontext.h>

#include "runtime/interpose/tests/fake_lane.h"

static ucontext_t caller;
static ucontext_t context;
static char stack[65536];
static long sum;

static void adds(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
  sum = a + 10l * b + 100l * c + 1000l * d + 10000l * e + 100000l * f + 1000000l * g + 10000000l * h +
        100000000l * i;
}
static void goes_and_comes() {
  ++sum;
  swapcontext(&context, &caller);
  ++sum;
}

static void make(void (*function)(), ucontext_t* link) {
  CHECK(getcontext(&context) == 0);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  context.uc_link = link;
  makecontext(&context, function, 0);
}

static void arguments_arrive() {
  CHECK(getcontext(&context) == 0);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  context.uc_link = &caller;
  makecontext(&context, reinterpret_cast<void (*)()>(adds), 9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  CHECK(swapcontext(&caller, &context) == 0);
  CHECK(sum == 987654321);
}

// How deep in a stack is not told.
static const char* recorded_stacks() {
  static char text[1024];
  char* to = text;
  for (const char* from = record_end(); *from != '\0' && to < text + sizeof text - 1;) {
    if (*from == '+')
      from += 1 + strspn(from + 1, "0123456789");
    else
      *to++ = *from++;
  }
  *to = '\0';
  return text;
}

static void the_lane_hears_where_it_goes_on() {
  char here[64];  // the caller's stack is told by addresses near this one
  record_name(stack, sizeof stack, "stack");
  record_name(here - 4096, 8192, "here");
  sum = 0;
  record_begin();
  make(goes_and_comes, &caller);
  swapcontext(&caller, &context);
  swapcontext(&caller, &context);
  CHECK(strcmp(recorded_stacks(),
               "context stack 65536; switching_to stack; switching_to here; switching_to stack; returning_to "
               "here") == 0);
  CHECK(sum == 2);
  record_forget_names();
}

static void a_context_may_be_gone_back_to_many_times() {
  volatile int times = 0;
  ucontext_t begin;
  CHECK(getcontext(&begin) == 0);
  times = times + 1;
  if (times < 1000) setcontext(&begin);
  CHECK(times == 1000);
}

int main() {
  arguments_arrive();
  the_lane_hears_where_it_goes_on();
  a_context_may_be_gone_back_to_many_times();
  return 0;
}
