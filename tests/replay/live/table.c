// A function that only a table names, in another file, and that the recording never called.
// also: also_table.c
// A-B: exited with code 0
// A-B output: one
// B-A: exited with code 0
// B-A output: zero
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

void zero(void);
void one(void);
void (*const volatile table[])(void) = {zero, one};
static volatile int flag;

static void* set(void* argument) {
  (void)argument;
  flag = 1;  // <A>
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  table[flag]();  // <B>
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
