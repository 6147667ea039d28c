// Which lock is taken first depends on a flag that is read without one.
// A-B: exited with code 0
// B-A: deadlock; thread 0 waits for the end of thread 1, .*; thread 1 waits for mutex .*, held by thread 2, .*; thread 2 waits for mutex .*, held by thread 1, .*
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static pthread_mutex_t x = PTHREAD_MUTEX_INITIALIZER, y = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_reversed;
static int shared;

static void lock_both(pthread_mutex_t* first, pthread_mutex_t* second) {
  pthread_mutex_lock(first);
  sched_yield();
  pthread_mutex_lock(second);
  ++shared;
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
}

static void* one(void* argument) {
  (void)argument;
  is_reversed = 1;  // <A>
  lock_both(&y, &x);
  return 0;
}

static void* two(void* argument) {
  (void)argument;
  int seen = is_reversed;  // <B>
  if (seen)
    lock_both(&y, &x);
  else
    lock_both(&x, &y);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  usleep(100000);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return shared - 2;
}
