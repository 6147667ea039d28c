// rule: threads
// claim: the address of a thread-local variable, given away, is shared memory like any other
// expect: race write@a read@b
#include "../order.h"

thread_local long mine[4];
long* volatile given;

static void* body(void*) {
  for (long& value : mine) value = value + 1;  // @a
  given = mine;
  step();
  await(2);
  use(mine[1]);
  return nullptr;
}

int main() {
  pthread_t t = start(body);
  await(1);
  long* theirs;
  asm volatile("movq %1, %0" : "=r"(theirs) : "m"(given));
  use(theirs[1]);  // @b
  step();
  join(t);
}
