// rule: idioms
// claim: the same with an atomic flag is correct
// expect: nothing
#include "../order.h"

int data;
_Atomic int flag;

static void* writer(void* _) {
  data = 1;
  flag = 1;
  return NULL;
}

static void* reader(void* _) {
  while (!flag) doze(100);
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
