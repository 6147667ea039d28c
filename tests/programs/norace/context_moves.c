// rule: contexts
// claim: contexts that threads hand to each other are ordered as what they hand them over with is
// flags: -D_GNU_SOURCE
// expect: nothing
#include <ucontext.h>

#include "../order.h"

// Every context runs on every thread in turn, deep in calls; each has a thread's place to go back to.
enum { kContexts = 8, kTurns = 300, kDeep = 20 };

struct Context {
  ucontext_t state;
  ucontext_t* back;
  int turns;
  char stack[65536];
};
static struct Context contexts[kContexts];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Context* waiting[kContexts];
static int count, left = kContexts;

__attribute__((noinline)) static int deep(struct Context* self, int depth) {
  if (depth > 0) return deep(self, depth - 1) + 1;
  ++self->turns;
  swapcontext(&self->state, self->back);
  ++self->turns;
  return 0;
}

static void body(int number) {
  struct Context* self = &contexts[number];
  while (self->turns < kTurns) deep(self, self->turns % kDeep);
  // Not to be gone on with.
  swapcontext(&self->state, self->back);
}

static struct Context* take(void) {
  pthread_mutex_lock(&lock);
  struct Context* one = count > 0 ? waiting[--count] : NULL;
  pthread_mutex_unlock(&lock);
  return one;
}

static void give(struct Context* one) {
  pthread_mutex_lock(&lock);
  if (one->turns < kTurns) {
    for (int i = count++; i > 0; --i) waiting[i] = waiting[i - 1];
    waiting[0] = one;
  } else {
    --left;
  }
  pthread_mutex_unlock(&lock);
}

static int any_left(void) {
  pthread_mutex_lock(&lock);
  int any = left > 0;
  pthread_mutex_unlock(&lock);
  return any;
}

static void* worker(void* _) {
  ucontext_t here;
  while (any_left()) {
    struct Context* one = take();
    if (one == NULL) {
      doze(50);
      continue;
    }
    one->back = &here;
    swapcontext(&here, &one->state);
    give(one);
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < kContexts; ++i) {
    struct Context* one = &contexts[i];
    getcontext(&one->state);
    one->state.uc_stack.ss_sp = one->stack;
    one->state.uc_stack.ss_size = sizeof one->stack;
    one->state.uc_link = NULL;
    makecontext(&one->state, (void (*)(void))body, 1, i);
    waiting[count++] = one;
  }
  run3(worker, worker, worker);
}
