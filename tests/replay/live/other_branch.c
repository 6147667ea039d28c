// The branch behind "late" was never recorded.
// A-B: exited with code 0
// A-B output: early 1
// B-A: exited with code 7
// B-A output: late 1 2 3 5 6 7: no "value" yet 3.50 0x0000002a
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int value = -1;

// Variable arguments, more of them than fit into registers.
static int complain(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  int last = 0;
  for (int i = 0; i < 6; ++i) last = va_arg(again, int);
  va_end(again);
  return last;
}

static void* set(void* argument) {
  (void)argument;
  value = 1;  // <A>
  return 0;
}

static void* get(void* argument) {
  (void)argument;
  int seen = value;  // <B>
  if (seen < 0) exit(complain("late %d %d %d %d %d %d: no \"%s\" yet %.2f %#010x\n", value, 2, 3, 5, 6, 7, "value", 3.5, 42));
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
