// rule: bytes
// claim: calls of the kernel with addresses that no program has fail, whether there are other threads or not
// expect: nothing
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

static int ends[2];

static void fails(uintptr_t address, size_t size) {
  errno = 0;
  if (send(ends[1], (const void*)address, size, 0) != -1 || errno != EFAULT) abort();
}

static void all_fail(void) {
  for (size_t size = 1; size <= 100; size++) {
    fails((uintptr_t)-4096, size);
    fails((uintptr_t)1 << 47, size);
    fails(((uintptr_t)1 << 47) - 4096, size);
    fails((uintptr_t)1 << 63 | 24, size);
  }
  fails((uintptr_t)-64, 0);
}

static void* other(void* _) {
  await(1);
  return NULL;
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  all_fail();
  pthread_t t = start(other);
  all_fail();
  step();
  join(t);
}
