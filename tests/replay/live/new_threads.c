// Threads that the recording never had, on code it never ran.
// A-B: exited with code 0
// A-B output: one
// B-A: exited with code 6
// B-A output: worker 1 / worker 2 / sum 6
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int mode;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long turn = 1;
static long sum;

static void* work(void* argument) {
  long mine = (long)argument;
  pthread_mutex_lock(&lock);
  while (turn != mine) pthread_cond_wait(&turned, &lock);
  printf("worker %ld\n", mine);
  sum += mine;
  ++turn;
  pthread_cond_broadcast(&turned);
  pthread_mutex_unlock(&lock);
  return (void*)mine;
}

static void* set(void* argument) {
  (void)argument;
  mode = 1;  // <A>
  return 0;
}

static void* act(void* argument) {
  (void)argument;
  int seen = mode;  // <B>
  if (seen) {
    printf("one\n");
    return 0;
  }
  pthread_t* workers = calloc(2, sizeof *workers);
  pthread_create(&workers[1], 0, work, (void*)2);
  pthread_create(&workers[0], 0, work, (void*)1);
  void* result;
  pthread_join(workers[1], &result);
  sum += (long)result;
  pthread_join(workers[0], &result);
  sum += (long)result;
  free(workers);
  printf("sum %ld\n", sum);
  exit((int)sum);
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, act, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
