// rule: outside
// claim: what a running child is sent, by bytes, the end of a stream or a signal, comes before what is heard of it afterwards
// expect: nothing
// flags: -D_GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../order.h"

int data[3];
int question[2], answer[2];
pid_t echo, sleeper;

static void* says(void* _) {
  data[0] = 1;
  if (write(question[1], "x", 1) != 1) abort();
  await(1);
  data[1] = 1;
  close(question[1]);
  data[2] = 1;
  kill(sleeper, SIGTERM);
  return NULL;
}

static void* hears(void* _) {
  char c;
  if (read(answer[0], &c, 1) != 1) abort();
  ++data[0];
  step();
  if (read(answer[0], &c, 1) != 0) abort();
  ++data[1];
  if (waitpid(sleeper, NULL, 0) != sleeper) abort();
  ++data[2];
  return NULL;
}

int main(void) {
  if (pipe(question) != 0 || pipe(answer) != 0) abort();
  echo = fork();
  if (echo == 0) {
    close(question[1]);
    char c;
    while (read(question[0], &c, 1) == 1) {
      if (write(answer[1], &c, 1) != 1) _exit(1);
    }
    _exit(0);
  }
  close(answer[1]);
  sleeper = fork();
  if (sleeper == 0) {
    close(question[1]);
    for (;;) pause();
  }
  run2(says, hears);
  waitpid(echo, NULL, 0);
}
