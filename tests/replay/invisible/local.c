// A thread uses a local while the function that has it returns.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_t thread;

static void* reader(void* local) {
  printf("%ld\n", *(volatile long*)local);
  return NULL;
}

__attribute__((noinline)) static void leave_early(void) {
  long left_behind = 1;
  pthread_create(&thread, NULL, reader, &left_behind);
  usleep(20000);
}

int main(void) {
  leave_early();
  pthread_join(thread, NULL);
}
