#include <pthread.h>

void bump(int n);
extern int shared;

static void* work(void* unused) {
  bump(10);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  return shared != 45;
}
