// rule: idioms
// claim: a plain reference count races
// expect: race any@a any@a
#include "../order.h"

struct Object {
  int references;
  pthread_mutex_t mutex;
}* object;

static void drop(void) {
  int left = --object->references;  // @a
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
