// rule: annotations
// claim: __tsan_release and __tsan_acquire order what a hand-made flag orders
// expect: nothing
#include <sanitizer/tsan_interface.h>

#include "../order.h"

int data;
char token;

static void* writer(void*) {
  data = 1;
  __tsan_release(&token);
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  __tsan_acquire(&token);
  use(data);
  return nullptr;
}

int main() { run2(writer, reader); }
