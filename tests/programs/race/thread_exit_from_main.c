// rule: threads
// claim: main's pthread_exit orders nothing: its last write races with a thread that lives on
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_t main_thread;

static void* survivor(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) {
  main_thread = pthread_self();
  pthread_t t = start(survivor);
  pthread_detach(t);
  data = 1;  // @a
  step();
  pthread_exit(NULL);
}
