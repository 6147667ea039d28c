// rule: outside
// claim: a lock of an open file description orders threads that have each their own
// flags: -D_GNU_SOURCE
// expect: nothing
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "../order.h"

int data;
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

static void* writer(void* _) {
  int fd = open_again();
  set_lock(fd, F_WRLCK);
  data = 1;
  set_lock(fd, F_UNLCK);
  step();
  return NULL;
}

static void* reader(void* _) {
  int fd = open_again();
  await(1);
  set_lock(fd, F_RDLCK);
  use(data);
  set_lock(fd, F_UNLCK);
  return NULL;
}

int main(void) {
  file = memfd_create("locked", 0);
  if (file < 0) abort();
  run2(writer, reader);
}
