// Ends by a signal that it catches, in the way that its argument says, while another thread is at work.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static const char* how;
static long work[64];

static void handler(int number) {
  stopped = 1;
  if (strcmp(how, "raise") == 0) {
    signal(number, SIG_DFL);
    raise(number);
  }
  if (strcmp(how, "exit") == 0) exit(8);
  if (strcmp(how, "_exit") == 0) _exit(9);
}

static void* busy(void* unused) {
  for (long i = 0; !stopped; i++) work[i % 64] += i;
  return unused;
}

int main(int count, char** arguments) {
  how = arguments[count - 1];
  signal(SIGTERM, handler);
  pthread_t thread;
  pthread_create(&thread, NULL, busy, NULL);
  puts("up");
  fflush(stdout);
  while (!stopped) usleep(1000);
  pthread_join(thread, NULL);
  return 7;
}
