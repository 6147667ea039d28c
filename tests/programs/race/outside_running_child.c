// rule: outside
// claim: a child that has been waited for passes nothing on any more, and what follows the sending is not ordered
// expect: race write@late write@heard
// expect: race write@sent write@read
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../order.h"

int late, inside;
int question[2], answer[2], one[2], other[2];
pid_t echo;

static void* says(void* _) {
  if (write(question[1], "x", 1) != 1) abort();
  late = 1;  // @late
  step();
  await(2);
  inside = 1;  // @sent
  if (write(one[1], "x", 1) != 1) abort();
  step();
  return NULL;
}

static void* hears(void* _) {
  await(1);
  char c;
  if (read(answer[0], &c, 1) != 1) abort();
  late = 2;  // @heard
  if (waitpid(echo, NULL, 0) != echo) abort();
  if (write(other[1], "x", 1) != 1) abort();
  step();
  await(3);
  if (read(other[0], &c, 1) != 1) abort();  // not what the other one has sent
  inside = 2;                               // @read
  return NULL;
}

int main(void) {
  if (pipe(question) != 0 || pipe(answer) != 0 || pipe(one) != 0 || pipe(other) != 0) abort();
  echo = fork();
  if (echo == 0) {
    char c;
    if (read(question[0], &c, 1) != 1 || write(answer[1], &c, 1) != 1) _exit(1);
    _exit(0);
  }
  run2(says, hears);
}
