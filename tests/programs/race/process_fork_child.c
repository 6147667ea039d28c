// rule: fork
// claim: races in a forked child are found
// expect: race write@a write@b
#include <sys/wait.h>
#include <unistd.h>

#include "../order.h"

int data, parents;

static void* first(void* _) {
  data = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(2);
  data = 2;  // @b
  return NULL;
}

static void* bystander(void* _) {
  parents = 1;
  step();
  await(2);
  return NULL;
}

int main(void) {
  pthread_t t = start(bystander);
  await(1);
  pid_t child = fork();
  if (child == 0) {
    parents = 2;  // the bystander is not in this process
    run2(first, second);
    exit(0);
  }
  waitpid(child, NULL, 0);
  step();
  join(t);
}
