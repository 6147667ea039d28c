// rule: allocation
// claim: delete after the reader has posted does not
// expect: nothing
#include <semaphore.h>

#include "../order.h"

struct Node {
  int value = 3;
  Node* next = nullptr;
};
Node* node;
sem_t done;

static void* reader(void*) {
  use(node->value);
  sem_post(&done);
  step();
  return nullptr;
}

int main() {
  sem_init(&done, 0, 0);
  node = new Node;
  pthread_t t = start(reader);
  await(1);
  sem_wait(&done);
  delete node;
  join(t);
}
