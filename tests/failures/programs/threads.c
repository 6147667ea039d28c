// threads live N | threads total N: N threads at once, or one after the other in small groups; one race at
// the end.
#include <stdio.h>
#include <string.h>

#include "racer.h"

static long counters[4096];
static int wanted;

static void* live(void* number) {
  counters[(intptr_t)number]++;
  step();
  await(wanted + 2);
  return NULL;
}

static void* brief(void* number) {
  counters[(intptr_t)number]++;
  return NULL;
}

int main(int argc, char** argv) {
  int count = atoi(argv[2]);
  if (strcmp(argv[1], "live") == 0) {
    wanted = count;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    pthread_t* threads = malloc(sizeof(pthread_t) * (size_t)count);
    for (intptr_t i = 0; i < count; i++) {
      if (pthread_create(&threads[i], &small, live, (void*)i) != 0) {
        fprintf(stderr, "no more than %d threads\n", (int)i);
        return 8;
      }
    }
    await(count);
    step();
    step();
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(threads);
  } else {
    for (int done = 0; done < count; done += 8) {
      pthread_t group[8];
      for (intptr_t i = 0; i < 8; i++) pthread_create(&group[i], NULL, brief, (void*)i);
      for (int i = 0; i < 8; i++) pthread_join(group[i], NULL);
    }
  }
  // The steps of the race start after all others.
  pthread_t a, b;
  order_steps = 0;
  pthread_create(&a, NULL, racer_first, NULL);
  pthread_create(&b, NULL, racer_second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return argc > 9;
}
