// rule: allocation
// claim: memory that nobody can write races with its end, and as any other once it can be written
// flags: -D_GNU_SOURCE
// expect: race read@a free@b
// expect: race read@c free@b2
// expect: race read@d write@e
// expect: race write@f read@g
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../order.h"

enum { kSize = 16384 };

static int file;
static char *searched, *compared, *made_private, *replaced;

static char* map(char* where, int protection, int flags) {
  char* mapped = mmap(where, kSize, protection, flags, file, 0);
  if (mapped == MAP_FAILED) abort();
  return mapped;
}

static void* reader(void* _) {
  long sum = 0;
  for (int i = 100; i < kSize; i += 1000) sum += ((volatile char*)searched)[i];  // @a
  sum += memcmp(compared + 5000, compared + 9000, 700);                          // @c
  sum += *(volatile char*)(made_private + 2000);                                 // @d
  sum += *(volatile char*)(replaced + 2000);
  use(sum);
  step();
  await(2);
  use(*(volatile long*)(replaced + 4000));  // @g
  return NULL;
}

static void* ender(void* _) {
  await(1);
  munmap(searched, kSize);  // @b
  munmap(compared, kSize);  // @b2
  if (mprotect(made_private, kSize, PROT_READ | PROT_WRITE) != 0) abort();
  *(volatile char*)(made_private + 2000) = 1;  // @e
  map(replaced, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED);
  *(volatile long*)(replaced + 4000) = 1;  // @f
  step();
  return NULL;
}

int main(void) {
  file = open("/proc/self/exe", O_RDONLY);
  searched = map(NULL, PROT_READ, MAP_SHARED);
  compared = map(NULL, PROT_READ, MAP_SHARED);
  made_private = map(NULL, PROT_READ, MAP_PRIVATE);
  replaced = map(NULL, PROT_READ, MAP_SHARED);
  if (mprotect(searched, kSize, PROT_READ | PROT_WRITE) == 0) abort();  // by no means
  run2(reader, ender);
}
