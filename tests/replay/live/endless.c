// options: --steps 300000
// A-B: exited with code 0
// B-A: still running after 300001 steps; thread 2: .*endless.c:\d+.*
#include <pthread.h>
#include <unistd.h>

static volatile int is_set;

static void* set(void* argument) {
  (void)argument;
  is_set += 1;  // <A:write>
  return 0;
}

static void* wait(void* argument) {
  (void)argument;
  int first = is_set;  // <B>
  // Whoever came too early waits for a second change that never comes.
  while (is_set < 2 - first) {
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, wait, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
