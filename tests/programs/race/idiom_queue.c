// rule: idioms
// claim: a message that its producer changes after queueing it races with the consumer
// expect: race write@a read@b
#include "../order.h"

enum { kSlots = 4, kMessages = 60 };
struct Message {
  int body, late;
}* slots[kSlots];
int count, in, out;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

static void* producer(void* _) {
  for (int i = 0; i < kMessages; i++) {
    struct Message* message = malloc(sizeof *message);
    message->body = i;
    message->late = 0;
    pthread_mutex_lock(&mutex);
    while (count == kSlots) pthread_cond_wait(&not_full, &mutex);
    slots[in++ % kSlots] = message;
    count++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
    if (i == kMessages - 1) {
      message->late = 1;  // @a
      step();
    }
  }
  return NULL;
}

static void* consumer(void* _) {
  for (int i = 0; i < kMessages; i++) {
    pthread_mutex_lock(&mutex);
    while (count == 0) pthread_cond_wait(&not_empty, &mutex);
    struct Message* message = slots[out++ % kSlots];
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&mutex);
    use(message->body);
    if (i == kMessages - 1) {
      await(1);
      use(message->late);  // @b
      break;
    }
    free(message);
  }
  return NULL;
}

int main(void) { run2(producer, consumer); }
