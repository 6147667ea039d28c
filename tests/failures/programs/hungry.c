// Allocates until malloc says no, gives everything back, then races.
#include <stdio.h>
#include <string.h>

#include "racer.h"

int main(int argc, char** argv) {
  long megabytes = atol(argv[1]), got = 0;
  char* last = NULL;
  for (; got < megabytes; got++) {
    char* block = malloc(1 << 20);
    if (block == NULL) break;
    memset(block, 1, 1 << 20);
    *(char**)block = last;
    last = block;
  }
  printf("%s\n", got == megabytes ? "all" : "refused");
  fflush(stdout);
  while (last != NULL) {
    char* next = *(char**)last;
    free(last);
    last = next;
  }
  race_once();
  return argc > 9;
}
