// A file that the recorded run never opened: nobody knows what is in it, and nothing is opened.
// A-B: exited with code 0
// A-B output: opened nothing
// B-A: left the known world: input that is not in the recording: fopen of /proc/self/comm.*
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int flag;

static void* set(void* argument) {
  (void)argument;
  flag = 1;  // <A>
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  if (flag)  // <B>
    puts("opened nothing");
  else
    puts(fopen("/proc/self/comm", "r") != 0 ? "opened" : "not opened");
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
