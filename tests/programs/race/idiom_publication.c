// rule: idioms
// claim: publishing an object through a plain pointer races on the pointer
// expect: race write@a read@b
// allow: race write@c read@d
#include "../order.h"

struct Object {
  int field;
}* published;
struct Object object;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* publisher(void* _) {
  object.field = 4;  // @c
  published = &object;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  struct Object* seen = published;  // @b
  if (seen != NULL) use(seen->field);  // @d
  return NULL;
}

int main(void) { run2(publisher, reader); }
