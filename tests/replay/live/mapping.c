// Memory that the program maps by itself: zero until written, gone when unmapped.
// A-B: exited with code 0
// A-B output: before 0 7, after 0 9
// B-A: ended by signal 11 \(.*\): read of 4 bytes at 0x[0-9a-f]+, which was unmapped.*
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int is_used;
static int* old;

static int* map(void) {
  return mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void* set(void* argument) {
  (void)argument;
  is_used = 1;  // <A>
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  int seen = is_used;  // <B>
  if (!seen) munmap(old, 1 << 16);
  int* fresh = map();
  fresh[100] = 9;
  printf("before %d %d, ", old[5000], old[1]);
  munmap(old, 1 << 16);
  printf("after %d %d\n", fresh[5000], fresh[100]);
  return 0;
}

int main(void) {
  pthread_t a, b;
  old = map();
  old[1] = 7;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
