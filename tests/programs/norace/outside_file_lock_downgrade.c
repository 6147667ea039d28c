// rule: outside
// claim: an exclusive lock of a file that is made a shared one is given up
// flags: -D_GNU_SOURCE
// expect: nothing
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../order.h"

int data[2];
int file;

static int open_again(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return open(path, O_RDWR);
}

static void set_lock(int fd, short type) {
  struct flock lock = {.l_type = type};
  if (fcntl(fd, F_OFD_SETLKW, &lock) != 0) abort();
}

static void* first(void* _) {
  int fd = open_again();
  int again = dup(fd);
  // Both kinds of locks, once by another descriptor of the same opening.
  if (flock(fd, LOCK_EX) != 0) abort();
  data[0] = 1;
  if (flock(again, LOCK_SH) != 0) abort();
  set_lock(fd, F_WRLCK);
  data[1] = 1;
  set_lock(fd, F_RDLCK);
  step();
  await(2);
  return NULL;
}

static void* second(void* _) {
  int fd = open_again();
  await(1);
  if (flock(fd, LOCK_SH) != 0) abort();
  use(data[0]);
  if (flock(fd, LOCK_UN) != 0) abort();
  set_lock(fd, F_RDLCK);
  use(data[1]);
  set_lock(fd, F_UNLCK);
  step();
  return NULL;
}

int main(void) {
  file = memfd_create("locked", 0);
  if (file < 0) abort();
  run2(first, second);
}
