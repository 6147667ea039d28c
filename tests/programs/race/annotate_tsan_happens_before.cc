// rule: annotations
// claim: a hand-made flag that is not annotated races behind it
// expect: race write@a read@b
#include <sanitizer/tsan_interface.h>

#include "../order.h"

int data;
char token;

static void* writer(void*) {
  data = 1;  // @a
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  __tsan_acquire(&token);
  use(data);  // @b
  return nullptr;
}

int main() { run2(writer, reader); }
