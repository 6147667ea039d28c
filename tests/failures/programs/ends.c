// Races if told to, then ends in the way that is asked for.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "racer.h"

static const char* way;

static void end(void) {
  if (strcmp(way, "segv") == 0) *(volatile int*)8 = 1;
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "term") == 0) kill(getpid(), SIGTERM);
  if (strcmp(way, "exit") == 0) exit(7);
  if (strcmp(way, "_exit") == 0) _exit(7);
  if (strcmp(way, "quick_exit") == 0) quick_exit(7);
  if (strcmp(way, "pthread_exit") == 0) pthread_exit(NULL);
}

static void* ender(void* _) {
  end();
  return NULL;
}

static void* sleeper(void* _) {
  for (;;) pause();
  return NULL;
}

// ends WAY [race] [thread]
int main(int argc, char** argv) {
  way = argv[1];
  int in_thread = 0;
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], "race") == 0) race_once();
    if (strcmp(argv[i], "thread") == 0) in_thread = 1;
  }
  if (in_thread) {
    start(sleeper);
    join(start(ender));
  } else {
    end();
  }
  return 0;
}
