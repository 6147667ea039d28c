// rule: allocation
// claim: blocks sent through a mutex and freed by the receiver, whose addresses come back, do not race
// expect: nothing
#include "../order.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long* box;

static void* sender(void* _) {
  for (int i = 0; i < 50; i++) {
    long* block = malloc(32);
    block[0] = i;
    pthread_mutex_lock(&mutex);
    box = block;
    pthread_mutex_unlock(&mutex);
    step();
    await(2 * i + 2);
  }
  return NULL;
}

static void* receiver(void* _) {
  for (int i = 0; i < 50; i++) {
    await(2 * i + 1);
    pthread_mutex_lock(&mutex);
    long* block = box;
    pthread_mutex_unlock(&mutex);
    use(block[0]);
    free(block);
    step();
  }
  return NULL;
}

int main(void) { run2(sender, receiver); }
