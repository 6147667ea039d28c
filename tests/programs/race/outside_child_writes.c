// rule: outside
// claim: what comes after a child was started is not ordered by the byte that it sends
// expect: race write@late write@other
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../order.h"

int data;
int ends[2];

static void* starts(void* _) {
  pid_t child = fork();
  if (child == 0) _exit(write(ends[1], "x", 1) != 1);
  data = 1;  // @late
  step();
  waitpid(child, NULL, 0);
  return NULL;
}

static void* hears(void* _) {
  char c;
  if (read(ends[0], &c, 1) != 1) abort();
  await(1);
  data = 2;  // @other
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) abort();
  run2(starts, hears);
}
