// The library orders the two accesses, through an object that both threads give it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "gate.h"

static int data;

static void* writer(void* gate) {
  data = 1;
  gate_open(gate);
  return NULL;
}

static void* reader(void* gate) {
  gate_wait(gate);
  printf("%d\n", data);
  return NULL;
}

int main(void) {
  struct gate* const gate = calloc(1, sizeof *gate);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, gate);
  pthread_create(&threads[1], NULL, reader, gate);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
