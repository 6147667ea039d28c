// rule: fences
// claim: a relaxed counter with no fence does not order the last one out after the others
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data[2];
atomic_int references = 2;

static void leave(int mine) {
  data[mine] = 1;  // @a
  if (atomic_fetch_sub_explicit(&references, 1, memory_order_relaxed) == 1) {
    use(data[1 - mine]);  // @b
  }
}

static void* first(void* _) {
  leave(0);
  return NULL;
}

static void* second(void* _) {
  leave(1);
  return NULL;
}

int main(void) { run2(first, second); }
