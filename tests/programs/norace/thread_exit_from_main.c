// rule: threads
// claim: a thread that joins the main thread is ordered after all that main did
// expect: nothing
#include "../order.h"

int data;
pthread_t main_thread;

static void* survivor(void* _) {
  pthread_join(main_thread, NULL);
  await(1);
  use(data);
  return NULL;
}

int main(void) {
  main_thread = pthread_self();
  pthread_t t = start(survivor);
  pthread_detach(t);
  data = 1;
  step();
  pthread_exit(NULL);
}
