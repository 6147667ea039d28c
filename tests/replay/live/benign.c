// Both write the same value.
// A-B: exited with code 0
// B-A: exited with code 0
// says: the two orders end alike, outcome, output and memory
// says: next synchronisation: the same
#include <pthread.h>

static int ready;

static void* set(void* argument) {
  (void)argument;
  ready = 1;  // <A> <B>
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  pthread_create(&b, 0, set, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return ready - 1;
}
