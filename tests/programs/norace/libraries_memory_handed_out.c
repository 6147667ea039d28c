// rule: libraries
// claim: what libc allocates for the program may be used and freed by another thread that comes after
// expect: nothing
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../order.h"

static FILE* lines;
static char *line, *text, *buffer;
static size_t room, size;

static void* first(void* _) {
  if (getline(&line, &room, lines) < 0) abort();
  if (asprintf(&text, "%d", 1) != 1) abort();
  FILE* const memory = open_memstream(&buffer, &size);
  fputs("abc", memory);
  fclose(memory);
  return NULL;
}

static void* second(void* _) {
  use(line[1]);
  use(buffer[1]);
  use(text[0]);
  free(line);
  free(buffer);
  free(text);
  return NULL;
}

int main(void) {
  lines = tmpfile();
  if (lines == NULL) abort();
  fputs("a line\n", lines);
  rewind(lines);
  join(start(first));
  join(start(second));
}
