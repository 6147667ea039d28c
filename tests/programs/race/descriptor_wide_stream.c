// rule: file descriptors
// claim: what is written after the bytes were sent is not ordered by reading them as wide characters or as a word
// expect: race write@a read@b
// expect: race write@c read@d
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include "../order.h"

long wide, word;
int ends[2][2];
FILE* in[2];

static void* sender(void* _) {
  for (int i = 0; i < 2; i++)
    if (write(ends[i][1], "aaa\n", 4) != 4) abort();
  wide = 1;  // @a
  word = 1;  // @c
  step();
  return NULL;
}

static void* receiver(void* _) {
  if (fgetwc(in[0]) != L'a' || getw(in[1]) != 0x0a616161) abort();
  await(1);
  use(wide);  // @b
  use(word);  // @d
  return NULL;
}

int main(void) {
  for (int i = 0; i < 2; i++)
    if (pipe(ends[i]) != 0 || (in[i] = fdopen(ends[i][0], "r")) == NULL) abort();
  run2(sender, receiver);
}
