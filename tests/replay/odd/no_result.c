// Functions without a result, called as if they had one: what was left in the register is stored, as programs
// with a pool of jobs do that start functions of all kinds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
  void* (*run)(void*);
  void* argument;
  void* result;
};

static long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(void* what) {
  pthread_mutex_lock(&lock);
  sum += *(long*)what;
  pthread_mutex_unlock(&lock);
}
static void scale(void* what) {
  long* const value = what;
  *value = *value * 1000003 + (long)what;
}
void forget(void* what) { *(long*)what = 0; }
static void nothing(void* what) { (void)what; }
static void* twice(void* what) { return (void*)(*(long*)what * 2); }

static void* work(void* jobs) {
  for (struct job* job = jobs; job->run != NULL; ++job) job->result = job->run(job->argument);
  return NULL;
}

int main(void) {
  long values[3] = {5, 6, 7};
  struct job jobs[3][6];
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    void (*const all[])(void*) = {add, scale, nothing, (void (*)(void*))twice, forget};
    for (int j = 0; j < 5; ++j) jobs[i][j] = (struct job){(void* (*)(void*))all[j], &values[i], NULL};
    jobs[i][5].run = NULL;
    pthread_create(&threads[i], NULL, work, jobs[i]);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%ld %d\n", sum, jobs[0][3].result != NULL);
}
