// What the program reads from outside behind the stops: as the recording has it.
// A-B: exited with code 0
// A-B output: set: a line, 11 bytes of a file, the end
// B-A: exited with code 0
// B-A output: unset: a line, 11 bytes of a file, the end
#include <fcntl.h>
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
  int seen = flag;  // <B>
  char line[32] = "", bytes[32] = "";
  FILE* const file = fopen("/proc/self/comm", "r");
  if (file == 0 || fgets(line, sizeof line, file) == 0 || line[0] == 0) return 0;
  const int again = fgets(line, sizeof line, file) != 0;
  fclose(file);
  const int descriptor = open("/proc/self/status", O_RDONLY);
  const long length = read(descriptor, bytes, 11);
  const int is_name = bytes[0] == 'N' && bytes[4] == ':' && bytes[5] == '\t';
  printf("%s: %s, %ld bytes of a %s, %s\n", seen ? "set" : "unset", line[0] != 0 ? "a line" : "nothing", length,
         is_name ? "file" : "mess", again ? "more" : "the end");
  close(descriptor);
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
