// rule: file descriptors
// claim: a byte that is read at one end of a pseudo-terminal was written at the other before, or at the same if it echoes
// expect: nothing
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../order.h"

static _Alignas(8) int printed, typed, echoed;
static int master, terminal;

static void receive(int fd, char last) {
  char c = 0;
  while (c != last)
    if (read(fd, &c, 1) != 1) abort();
}

static void* program(void* unused) {
  printed = 1;
  if (write(terminal, "x\n", 2) != 2) abort();
  step();
  await(3);
  receive(terminal, '\n');
  use(typed);
  return unused;
}

static void* user(void* unused) {
  await(1);
  receive(master, '\n');
  use(printed);
  await(2);
  receive(master, 'y');
  use(echoed);
  step();
  return unused;
}

static void* keyboard(void* unused) {
  await(1);
  typed = 1;
  echoed = 1;
  if (write(master, "y\n", 2) != 2) abort();
  step();
  return unused;
}

int main(void) {
  master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) abort();
  terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (terminal < 0) abort();
  run3(program, user, keyboard);
}
