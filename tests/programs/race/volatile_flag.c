// rule: idioms
// claim: volatile is not synchronisation: flag and data race
// expect: race write@a read@b
// expect: race write@c read@d
#include "../order.h"

int data;
volatile int flag;

static void* writer(void* _) {
  data = 1;  // @c
  flag = 1;  // @a
  return NULL;
}

static void* reader(void* _) {
  while (!flag) doze(100);  // @b
  use(data);  // @d
  return NULL;
}

int main(void) { run2(writer, reader); }
