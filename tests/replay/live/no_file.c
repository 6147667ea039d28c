// What a program writes to files goes nowhere; a call that no model knows ends the world and says so.
// A-B: exited with code 0
// A-B output: wrote by descriptor
// B-A: left the known world: input that is not in the recording: fopen of made-by-a-live-world.*
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int mode;

static void* set(void* argument) {
  (void)argument;
  mode = 1;  // <A>
  return 0;
}

static void* act(void* argument) {
  (void)argument;
  int seen = mode;  // <B>
  if (seen) {
    write(1, "wrote by descriptor\n", 20);
  } else {
    FILE* file = fopen("made-by-a-live-world", "w");
    fputs("no\n", file);
    fclose(file);
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  usleep(100000);
  pthread_create(&b, 0, act, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
