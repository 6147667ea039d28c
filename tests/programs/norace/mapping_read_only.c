// rule: allocation
// claim: any number of threads may read memory that nobody can write, in any way, until it ends or is replaced
// flags: -D_GNU_SOURCE
// expect: nothing
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../order.h"

enum { kSize = 16384 };

static int file;
static char* searched;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long written[64];

static char* map(char* where, size_t size, int protection, int flags) {
  char* mapped = mmap(where, size, protection, flags, file, 0);
  if (mapped == MAP_FAILED) abort();
  return mapped;
}

static void* reader(void* _) {
  long sum = 0;
  for (int round = 0; round < 50; round++) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = round; i < kSize - 64; i += 97) {
      sum += ((volatile char*)searched)[i];
      sum += *(volatile long*)(searched + i / 8 * 8);
      char copy[64];
      memcpy(copy, searched + i, sizeof copy);
      sum += memcmp(copy, searched + i / 2, 9);
      sum += __atomic_load_n((int*)(searched + i / 4 * 4), __ATOMIC_ACQUIRE);
    }
  }
  use(sum);
  return NULL;
}

static void* ender(void* _) {
  await(3);
  // Ordered by the lock, after all of that.
  pthread_mutex_lock(&mutex);
  munmap(searched, kSize / 2);
  map(searched + kSize / 2, kSize / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED);
  memset(searched + kSize / 2, 1, kSize / 2);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* read_and_tell(void* _) {
  reader(NULL);
  pthread_mutex_lock(&mutex);
  written[0]++;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) {
  file = open("/proc/self/exe", O_RDONLY);
  searched = map(NULL, kSize, PROT_READ, MAP_SHARED);
  pthread_t ends = start(ender);
  run3(read_and_tell, read_and_tell, read_and_tell);
  join(ends);
  searched[kSize - 1] = 2;
}
