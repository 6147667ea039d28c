// rule: outside
// claim: taking a shared lock of a file gives nothing up
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "../order.h"

int data;
int file;

static int open_again(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return open(path, O_RDWR);
}

static void* first(void* _) {
  int fd = open_again();
  data = 1;  // @a
  if (flock(fd, LOCK_SH) != 0) abort();
  step();
  await(2);
  flock(fd, LOCK_UN);
  return NULL;
}

static void* second(void* _) {
  int fd = open_again();
  await(1);
  if (flock(fd, LOCK_SH) != 0) abort();
  use(data);  // @b
  flock(fd, LOCK_UN);
  step();
  return NULL;
}

int main(void) {
  file = memfd_create("locked", 0);
  if (file < 0) abort();
  run2(first, second);
}
