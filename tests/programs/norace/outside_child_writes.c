// rule: outside
// claim: what came before a child was started is ordered before what follows the byte that it sends
// expect: nothing
// flags: -D_GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../order.h"

int data[4];
int ends[4][2];

static void* starts(void* _) {
  char command[64];
  data[0] = 1;
  pid_t child = fork();
  if (child == 0) _exit(write(ends[0][1], "x", 1) != 1);
  data[1] = 1;
  snprintf(command, sizeof command, "echo >/proc/self/fd/%d", ends[1][1]);
  if (system(command) != 0) abort();
  data[2] = 1;
  snprintf(command, sizeof command, "echo >/proc/self/fd/%d", ends[2][1]);
  FILE* stream = popen(command, "r");
  if (stream == NULL) abort();
  data[3] = 1;
  snprintf(command, sizeof command, "echo >/proc/self/fd/%d", ends[3][1]);
  char shell[] = "/bin/sh", flag[] = "-c";
  char* const arguments[] = {shell, flag, command, NULL};
  pid_t spawned;
  if (posix_spawn(&spawned, shell, NULL, NULL, arguments, environ) != 0) abort();
  waitpid(child, NULL, 0);
  waitpid(spawned, NULL, 0);
  pclose(stream);
  return NULL;
}

static void* hears(void* _) {
  for (int i = 0; i < 4; ++i) {
    char c;
    if (read(ends[i][0], &c, 1) != 1) abort();
    ++data[i];
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < 4; ++i) {
    if (pipe(ends[i]) != 0) abort();
  }
  run2(starts, hears);
}
