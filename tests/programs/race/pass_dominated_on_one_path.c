// rule: dominated accesses
// claim: an access after a branch that released on one path counts on that path
// args: 1
// expect: race write@a read@b
#include "../order.h"

int data, choose;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
  if (choose) pthread_mutex_unlock(&mutex);
  data = 2;  // @a
  if (!choose) pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);  // @b
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(int argc, char** argv) {
  choose = atoi(argv[argc - 1]);
  run2(writer, reader);
}
