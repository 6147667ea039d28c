// Words that another thread writes all the time, read as vectors: what a replay gives the program must be
// what the program saw, not what was there a moment later.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { kWords = 64, kRounds = 60000 };
static double shared[kWords];
static int stop;

static void* write_all(void* unused) {
  double x = 0;
  while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0) {
    x += 1;
    for (int i = 0; i < kWords; ++i) shared[i] = x;
    __asm__ volatile("" ::: "memory");
  }
  return unused;
}

static double sums[kWords];

int main(void) {
  pthread_t writer;
  pthread_create(&writer, NULL, write_all, NULL);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kWords; ++i) sums[i] += shared[i] * 0.5;
    __asm__ volatile("" ::: "memory");
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(writer, NULL);
  double sum = 0;
  for (int i = 0; i < kWords; ++i) sum += sums[i];
  printf("%g\n", sum);
  return 0;
}
