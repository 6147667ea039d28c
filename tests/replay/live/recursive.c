// A recursive mutex that is held twice where the threads stop: one unlock is not enough.
// A-B: exited with code 0
// A-B output: held 1, then 1, then 0
// B-A: exited with code 0
// B-A output: held 0, then 1, then 0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t fixed = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, made;
static volatile int flag;

static int is_free(pthread_mutex_t* mutex) {
  if (pthread_mutex_trylock(mutex) != 0) return 0;
  pthread_mutex_unlock(mutex);
  return 1;
}

static void* ask(void* mutex) { return (void*)(long)!is_free(mutex); }

// Does another thread find it held?
static int is_held(pthread_mutex_t* mutex) {
  pthread_t other;
  void* answer = 0;
  pthread_create(&other, 0, ask, mutex);
  pthread_join(other, &answer);
  return (int)(long)answer;
}

static void* holder(void* argument) {
  (void)argument;
  pthread_mutex_lock(&fixed);
  pthread_mutex_lock(&fixed);
  pthread_mutex_lock(&made);
  pthread_mutex_lock(&made);
  pthread_mutex_lock(&made);
  pthread_mutex_unlock(&made);
  flag = 1;  // <A>
  pthread_mutex_unlock(&fixed);
  pthread_mutex_unlock(&made);
  int first = is_held(&fixed) + is_held(&made) == 2;
  pthread_mutex_unlock(&fixed);
  pthread_mutex_unlock(&made);
  printf(", then %d, then %d\n", first, is_held(&fixed) + is_held(&made));
  return 0;
}

static void* reader(void* argument) {
  (void)argument;
  printf("held %d", flag);  // <B>
  return 0;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&made, &attributes);
  pthread_t a, b;
  pthread_create(&a, 0, holder, 0);
  usleep(200000);
  pthread_create(&b, 0, reader, 0);
  pthread_join(b, 0);
  pthread_join(a, 0);
  return 0;
}
