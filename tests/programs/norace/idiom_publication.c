// rule: idioms
// claim: publishing an object under a lock does not race
// expect: nothing
#include "../order.h"

struct Object {
  int field;
}* published;
struct Object object;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* publisher(void* _) {
  object.field = 4;
  pthread_mutex_lock(&mutex);
  published = &object;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  struct Object* seen = published;
  pthread_mutex_unlock(&mutex);
  if (seen != NULL) use(seen->field);
  return NULL;
}

int main(void) { run2(publisher, reader); }
