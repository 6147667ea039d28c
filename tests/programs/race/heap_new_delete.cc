// rule: allocation
// claim: delete races with an unordered read of a member
// expect: race read@a free@b
#include <semaphore.h>

#include "../order.h"

struct Node {
  int value = 3;
  Node* next = nullptr;
};
Node* node;
sem_t done;

static void* reader(void*) {
  use(node->value);  // @a
  sem_post(&done);
  step();
  return nullptr;
}

int main() {
  sem_init(&done, 0, 0);
  node = new Node;
  pthread_t t = start(reader);
  await(1);
  delete node;  // @b
  join(t);
}
