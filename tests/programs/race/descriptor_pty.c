// rule: file descriptors
// claim: what is done after a byte was written to a pseudo-terminal is not ordered before what follows its being read
// expect: race write@a read@b
// expect: race write@c read@d
// expect: race write@e read@f
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
  if (write(terminal, "x\n", 2) != 2) abort();
  printed = 1;  // @a
  step();
  await(3);
  receive(terminal, '\n');
  use(typed);  // @d
  return unused;
}

static void* user(void* unused) {
  await(1);
  receive(master, '\n');
  use(printed);  // @b
  await(2);
  receive(master, 'y');
  use(echoed);  // @f
  step();
  return unused;
}

static void* keyboard(void* unused) {
  await(1);
  if (write(master, "y\n", 2) != 2) abort();
  typed = 1;  // @c
  echoed = 1;  // @e
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
