#include "gate.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

void gate_open(struct gate* gate) { __atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE); }

void gate_wait(struct gate* gate) {
  while (!__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE)) sched_yield();
}

void count_up(long* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

struct worker {
  void (*run)(void*);
  void* argument;
  int alive;
};

static void* body(void* argument) {
  struct worker* const worker = argument;
  worker->run(worker->argument);
  __atomic_store_n(&worker->alive, 0, __ATOMIC_RELEASE);
  return NULL;
}

struct worker* worker_start(void (*run)(void*), void* argument) {
  struct worker* const worker = malloc(sizeof *worker);
  pthread_t handle;
  worker->run = run;
  worker->argument = argument;
  worker->alive = 1;
  if (pthread_create(&handle, NULL, body, worker) != 0) abort();
  pthread_detach(handle);
  return worker;
}

int worker_is_alive(struct worker* worker) { return __atomic_load_n(&worker->alive, __ATOMIC_ACQUIRE); }
