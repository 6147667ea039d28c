// rule: libraries
// claim: a locale object is the program's: its end races with a use that nothing orders
// expect: race read@a free@b
#define _GNU_SOURCE
#include <locale.h>

#include "../order.h"

static locale_t shared;

static void* user(void* _) {
  uselocale(shared);  // @a
  uselocale(LC_GLOBAL_LOCALE);
  step();
  return NULL;
}

static void* owner(void* _) {
  await(1);
  freelocale(shared);  // @b
  return NULL;
}

int main(void) {
  shared = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
  run2(user, owner);
}
