// rule: the exact filter
// claim: a lock handed back and forth protects
// expect: nothing
#include "../order.h"

enum { kRounds = 50 };
int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* ping(void* _) {
  for (int i = 0; i < kRounds; i++) {
    await(2 * i);
    pthread_mutex_lock(&mutex);
    data = i;
    pthread_mutex_unlock(&mutex);
    step();
  }
  return NULL;
}

static void* pong(void* _) {
  for (int i = 0; i < kRounds; i++) {
    await(2 * i + 1);
    pthread_mutex_lock(&mutex);
    use(data);
    pthread_mutex_unlock(&mutex);
    step();
  }
  return NULL;
}

int main(void) { run2(ping, pong); }
