// The library is called by both threads, each with an object of its own: it orders nothing.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "gate.h"

static int data;
static long counters[2][64];

static void* writer(void* unused) {
  usleep(20000);  // both are there, with stacks of their own
  long own = 0;
  data = 1;
  count_up(&own);
  counters[0][0] = own;
  return unused;
}

static void* reader(void* unused) {
  usleep(20000);
  long own = 0;
  count_up(&own);
  counters[1][0] = own + data;
  return unused;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  printf("%ld\n", counters[0][0] + counters[1][0]);
}
