// Recorded for version-1.dh to version-3.dh: threads, a lock, a race, a call-back, an allocation.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance, statistics;

static int ascending(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static void* work(void* amounts) {
  int* const mine = amounts;
  qsort(mine, 8, sizeof *mine, ascending);
  for (int i = 0; i < 8; i++) {
    pthread_mutex_lock(&lock);
    balance += mine[i];
    pthread_mutex_unlock(&lock);
  }
  statistics++;  // races
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  int* amounts[2];
  for (int t = 0; t < 2; t++) {
    amounts[t] = malloc(8 * sizeof(int));
    for (int i = 0; i < 8; i++) amounts[t][i] = (i * 5 + t) % 8;
    pthread_create(&threads[t], NULL, work, amounts[t]);
  }
  for (int t = 0; t < 2; t++) {
    pthread_join(threads[t], NULL);
    free(amounts[t]);
  }
  printf("%ld %ld\n", balance, statistics);
  return 3;
}
