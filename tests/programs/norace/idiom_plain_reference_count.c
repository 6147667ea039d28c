// rule: idioms
// claim: a reference count under a mutex does not
// expect: nothing
#include "../order.h"

struct Object {
  int references;
  pthread_mutex_t mutex;
}* object;

static void drop(void) {
  pthread_mutex_lock(&object->mutex);
  int left = --object->references;
  pthread_mutex_unlock(&object->mutex);
  use(left);
}

static void* first(void* _) {
  drop();
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  drop();
  return NULL;
}

int main(void) {
  object = calloc(1, sizeof *object);
  object->references = 3;
  pthread_mutex_init(&object->mutex, NULL);
  run2(first, second);
  free(object);
}
