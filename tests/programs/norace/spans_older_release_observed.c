// rule: the exact filter
// claim: taking the lock that was released last orders all of it
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t old_lock = PTHREAD_MUTEX_INITIALIZER, new_lock = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&old_lock);
  data = 1;
  pthread_mutex_unlock(&old_lock);
  data = 2;
  pthread_mutex_lock(&new_lock);
  pthread_mutex_unlock(&new_lock);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&new_lock);
  use(data);
  pthread_mutex_unlock(&new_lock);
  return NULL;
}

int main(void) { run2(writer, reader); }
