// A race after the program has closed descriptors that are not its own: `closes from`, `closes each`, and
// `closes over FILE`, which puts FILE in place of all of them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int counter;

static void* count(void* unused) {
  counter++;
  return unused;
}

int main(int argc, char** argv) {
  (void)argc;
  if (strcmp(argv[1], "from") == 0) closefrom(3);
  if (strcmp(argv[1], "each") == 0)
    for (int i = 3; i < 1024; i++) close(i);
  if (strcmp(argv[1], "over") == 0) {
    int const file = open(argv[2], O_WRONLY | O_CREAT, 0600);
    for (int i = 3; i < 1024; i++)
      if (i != file) dup2(file, i);
  }
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}
