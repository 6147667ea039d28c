// clones own | syscall | vfork | shared: children of clone(2) with their own memory, with their parent's
// while it waits, and with their parent's while it goes on.
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "racer.h"

static char stack[1 << 18] __attribute__((aligned(16)));

static int child(void* argument) {
  if (argument != NULL) race_once();
  return 3;
}

int main(int argc, char** argv) {
  char* const top = stack + sizeof stack;
  int id = -1;
  if (strcmp(argv[1], "own") == 0) id = clone(child, top, SIGCHLD, argv);
  if (strcmp(argv[1], "syscall") == 0) {
    id = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (id == 0) {
      race_once();
      return 3;
    }
  }
  if (strcmp(argv[1], "vfork") == 0) id = clone(child, top, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
  if (strcmp(argv[1], "shared") == 0) id = clone(child, top, CLONE_VM | SIGCHLD, NULL);
  int status = 0;
  if (id < 0 || waitpid(id, &status, 0) != id || argc < 2) return 9;
  return WIFEXITED(status) && (WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == 66) ? 0 : 8;
}
