// rule: idioms
// claim: initialisation on first use under a lock does not
// expect: nothing
#include "../order.h"

int table[4];
int made;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int lookup(int i) {
  pthread_mutex_lock(&mutex);
  if (!made) {
    made = 1;
    for (int j = 0; j < 4; j++) table[j] = j;
  }
  int result = table[i];
  pthread_mutex_unlock(&mutex);
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
