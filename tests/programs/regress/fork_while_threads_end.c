// rule: fork
// claim: many threads fork while others start and end: nobody waits for a thread that is gone
// expect: nothing
#include <sys/wait.h>
#include <unistd.h>

#include "../order.h"

static void* forker(void* _) {
  int* block = calloc(1, 16);
  block[0]++;
  pid_t child = fork();
  if (child == 0) {
    block[1]++;
    _exit(0);
  }
  if (child < 0) abort();
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  if (status != 0) abort();
  free(block);
  return NULL;
}

int main(void) {
  for (int round = 0; round < 4; round++) {
    pthread_t threads[20];
    for (int i = 0; i < 20; i++) threads[i] = start(forker);
    for (int i = 0; i < 20; i++) join(threads[i]);
  }
}
