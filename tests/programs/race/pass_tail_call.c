// rule: code shapes
// claim: an access in a tail-called function races, and the stack names it
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int last(int value) {
  data = value;  // @a
  return value;
}

__attribute__((noinline)) static int middle(int value) { return last(value + 1); }

static void* writer(void* _) {
  use(middle(3));
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
