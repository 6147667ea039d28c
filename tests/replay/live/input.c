// What was read from outside before the stops, and looked at by the program only behind them.
// A-B: exited with code 0
// A-B output: set: from a pipe
// B-A: exited with code 0
// B-A output: unset: epip a morf
// says: \d+ bytes that nobody had looked at by then are as the rest of the recording shows them
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int flag;
static char buffer[16];
static int length;

static void* set(void* argument) {
  (void)argument;
  flag = 1;  // <A>
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  int seen = flag;  // <B>
  char text[16];
  for (int i = 0; i < length; ++i) text[seen ? i : length - 1 - i] = buffer[i];
  text[length] = 0;
  printf("%s: %s\n", seen ? "set" : "unset", text);
  return 0;
}

int main(void) {
  int ends[2];
  pthread_t a, b;
  if (pipe(ends) != 0 || write(ends[1], "from a pipe", 11) != 11) return 1;
  length = (int)read(ends[0], buffer, sizeof buffer - 1);
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
