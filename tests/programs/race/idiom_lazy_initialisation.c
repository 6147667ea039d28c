// rule: idioms
// claim: initialisation on first use without a lock races
// expect: race any@a any@b
#include "../order.h"

int table[4];
int made;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int lookup(int i) {
  if (!made) {  // @b
    made = 1;  // @a
  }
  int result = table[i];
  return result;
}

static void* first(void* _) {
  use(lookup(1));
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(lookup(2));
  return NULL;
}

int main(void) { run2(first, second); }
