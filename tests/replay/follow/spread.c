// A value read without a lock, and where it goes: through arithmetic, memory, a function, a copy, a library.
// says: reads 4 bytes at .* -> 0x5, which is followed \(access \d+\)  .*spread.c:35:
// says: thread 2 writes 4 bytes at .* <- 0xa \(access \d+\)  .*spread.c:36:
// says: thread 2 goes on by it  .*spread.c:37:
// says: thread 2 gives it to snprintf \(argument 4\)  .*spread.c:38:
// says: thread 0 writes 4 bytes at .* <- 0xb \(access \d+\)  .*spread.c:50:
// says: thread 0 gives it to printf \(argument 2\)  .*spread.c:51:
// says: thread 0 gives it to printf \(argument 3\)  .*spread.c:52:
// says: thread 0 reads 4 bytes at .* by its address \(access \d+\)  .*spread.c:53:
// never: spread.c:(39|54|55):
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct pair {
  int left, right;
};

static volatile int shared = 1;
static int doubled, flag, table[32];
static char text[32];
static struct pair from, to;

__attribute__((noinline)) static int twice(int value) { return 2 * value; }

static void* writer(void* argument) {
  (void)argument;
  shared = 5;
  return 0;
}

static void* reader(void* argument) {
  (void)argument;
  int seen = shared;  // <F>
  doubled = twice(seen);
  if (doubled > 3) flag = 1;
  snprintf(text, sizeof text, "%d", doubled);
  table[3] = 9;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&b, 0, writer, 0);
  usleep(100000);
  pthread_create(&a, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  from.left = doubled + 1;
  printf("%d\n", from.left);
  memcpy(&to, &from, sizeof to), printf("%s %d\n", "copied", to.left);
  int found = ((volatile int*)table)[doubled];
  printf("%d\n", flag);
  return found * 0 + table[3] - 9;
}
