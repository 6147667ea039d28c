// Timer signals at full speed while two threads work through memory, allocate and lock. No race.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "../../programs/order.h"

static volatile sig_atomic_t ticks;
static __thread long own[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long shared;

static void handler(int signal) {
  for (int i = 0; i < 64; i++) own[i] += signal;
  __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

static void* worker(void* _) {
  for (int round = 0; round < 300; round++) {
    long* block = malloc(4096 * sizeof(long));
    for (int i = 0; i < 4096; i++) block[i] = i * round;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 4096; i++) shared += block[i];
    pthread_mutex_unlock(&mutex);
    char text[128];
    snprintf(text, sizeof text, "%ld", block[7]);
    memmove(block, block + 100, 1000);
    free(block);
  }
  return NULL;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, NULL);
  run2(worker, worker);
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%s\n", __atomic_load_n(&ticks, __ATOMIC_RELAXED) > 0 ? "interrupted" : "never interrupted");
  return 0;
}
