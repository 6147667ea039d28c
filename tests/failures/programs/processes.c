// processes fork | exec PROGRAM ARGS... | many: children that race, another program, many children.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "racer.h"

static void* executor(void* arguments) {
  char** argv = arguments;
  execv(argv[0], argv);
  return NULL;
}

int main(int argc, char** argv) {
  if (strcmp(argv[1], "exec") == 0) {
    pthread_t t;
    pthread_create(&t, NULL, executor, argv + 2);
    pthread_join(t, NULL);
    return 9;
  }
  int children = strcmp(argv[1], "many") == 0 ? 20 : 1;
  for (int i = 0; i < children; i++) {
    pid_t child = fork();
    if (child == 0) {
      race_once();
      return 0;
    }
    int status;
    waitpid(child, &status, 0);
  }
  return argc > 9;
}
