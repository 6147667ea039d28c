// Frees a block twice, in one thread, with another one around.
#include <stdlib.h>

#include "racer.h"

static void* block;

static void* sleeper(void* _) {
  pthread_mutex_t* const mutex = _;
  pthread_mutex_lock(mutex);
  return NULL;
}

int main(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_t t;
  pthread_create(&t, NULL, sleeper, &mutex);
  block = malloc(40);
  void* volatile again = block;
  free(block);
  free(again);
  return 0;
}
