// rule: libraries
// claim: memory that libc allocates for the program is watched like the program's own
// expect: race write@a read@b
// expect: race write@c read@d
// expect: race read@h free@e
// expect: race write@f read@g
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../order.h"

static FILE* lines;
static char *line, *text, *given, *buffer;
static size_t room, size;

static void* first(void* _) {
  if (getline(&line, &room, lines) < 0) abort();  // @a
  if (asprintf(&text, "%d", 1) != 1) abort();  // @c
  FILE* const memory = open_memstream(&buffer, &size);
  fputs("abc", memory);
  fclose(memory);  // @f
  step();
  await(2);
  free(given);  // @e
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(line[1]);  // @b
  use(buffer[1]);  // @g
  use(text[0]);  // @d
  use(given[0]);  // @h
  step();
  return NULL;
}

int main(void) {
  lines = tmpfile();
  if (lines == NULL) abort();
  fputs("a line\n", lines);
  rewind(lines);
  if (asprintf(&given, "%d", 2) != 1) abort();
  run2(first, second);
}
