// streams close | chatter BYTES | echo: closes standard error; prints; copies its input.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "racer.h"

int main(int argc, char** argv) {
  if (strcmp(argv[1], "close") == 0) {
    close(2);
    race_once();
  } else if (strcmp(argv[1], "chatter") == 0) {
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    long left = atol(argv[2]);
    while (left > 0) {
      size_t n = left < (long)sizeof block ? (size_t)left : sizeof block;
      if (fwrite(block, 1, n, stdout) != n) return 9;
      left -= (long)n;
    }
    race_once();
  } else {
    int c;
    while ((c = getchar()) != EOF) putchar(c);
  }
  return argc > 9;
}
