// rule: code shapes
// claim: longjmp does not undo or invent order
// expect: nothing
#include <setjmp.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread jmp_buf back;

__attribute__((noinline)) static void deep(int depth) {
  volatile int here = depth;
  if (here == 0) longjmp(back, 1);
  deep(here - 1);
  use(here);
}

static void* writer(void* _) {
  for (int i = 0; i < 100; i++) {
    if (setjmp(back) == 0) deep(20);
  }
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(writer, reader); }
