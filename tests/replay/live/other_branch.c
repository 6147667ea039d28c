// The branch behind "late" was never recorded.
// A-B: exited with code 0
// A-B output: early 1
// B-A: exited with code 4
// B-A output: late 1: no "value" yet 3.50 0x0000002a
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int value = -1;

static int complain(const char* what, double number) {
  fprintf(stderr, "late %d: no \"%s\" yet %.2f %#010x\n", value, what, number, 42);
  return 4;
}

static void* set(void* argument) {
  (void)argument;
  value = 1;  // <A>
  return 0;
}

static void* get(void* argument) {
  (void)argument;
  int seen = value;  // <B>
  if (seen < 0) exit(complain("value", 3.5));
  printf("early %d\n", seen);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, get, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
