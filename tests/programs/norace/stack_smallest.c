// rule: stacks
// claim: threads with the smallest stack there is run, and what a mutex orders causes no alarm
// flags: -D_GNU_SOURCE
// expect: nothing
#include <limits.h>
#include <stdio.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* first(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* second(void* _) {
  char text[64];
  await(1);
  pthread_mutex_lock(&mutex);
  snprintf(text, sizeof text, "%d", data);
  data = text[0];
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0) abort();
  pthread_t a, b;
  if (pthread_create(&a, &attributes, first, NULL) != 0) abort();
  if (pthread_create(&b, &attributes, second, NULL) != 0) abort();
  size_t size = 0;
  if (pthread_attr_getstacksize(&attributes, &size) != 0 || size != PTHREAD_STACK_MIN) abort();
  join(a);
  join(b);
}
