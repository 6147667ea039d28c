// rule: read-write locks
// claim: a lock that readers take again and again orders all they read before their last unlock
// expect: nothing
#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void read_often(void) {
  for (int i = 0; i < 4; ++i) {
    pthread_rwlock_rdlock(&lock);
    use(data);
    pthread_rwlock_unlock(&lock);
  }
}

static void* reader(void* _) {
  await(1);
  read_often();
  step();
  return NULL;
}

static void* other_reader(void* _) {
  read_often();
  step();
  await(2);
  read_often();
  step();
  return NULL;
}

static void* writer(void* _) {
  await(3);
  pthread_rwlock_wrlock(&lock);
  data = 1;
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) { run3(reader, other_reader, writer); }
