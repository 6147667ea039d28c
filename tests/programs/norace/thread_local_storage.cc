// rule: threads
// claim: thread-local variables do not race, though threads reuse each other's storage
// expect: nothing
#include "../order.h"

thread_local long mine[4];

static void* body(void*) {
  for (long& value : mine) value = value + 1;
  use(mine[1]);
  return nullptr;
}

int main() {
  for (int i = 0; i < 10; i++) run2(body, body);
}
