// A-B: exited with code 0
// A-B output: counter 11
// B-A: exited with code 3
// B-A output: counter 10
// says: memory when both threads came to their next synchronisation: different
// says: counter: 0xb against 0xa
// says: the two orders end differently
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int counter;

static void* add(void* argument) {
  int seen = counter;  // <B>
  counter = seen + (int)(long)argument;  // <A:write>
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, add, (void*)1);
  usleep(100000);
  pthread_create(&b, 0, add, (void*)10);
  pthread_join(a, 0);
  pthread_join(b, 0);
  printf("counter %d\n", counter);
  return counter == 11 ? 0 : 3;
}
