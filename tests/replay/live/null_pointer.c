// A-B: exited with code 0
// A-B output: value 7
// B-A: ended by signal 11 \(Segmentation fault\): read of 4 bytes at 0x0, a null pointer or next to it, thread 2, .*null_pointer.c:23:.*
// says: the two orders end differently
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int* volatile shared;

static void* make(void* argument) {
  (void)argument;
  int* fresh = malloc(sizeof *fresh);
  *fresh = 7;
  shared = fresh;  // <A>
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  int* found = shared;  // <B>
  printf("value %d\n", *found);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, make, 0);
  usleep(100000);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
