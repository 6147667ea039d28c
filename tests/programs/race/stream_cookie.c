// rule: libraries
// claim: what a function of a stream of the program's own writes races with who looks at it without the stream's lock
// expect: race write@a read@b
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../order.h"

struct Sink {
  long count;
  char last[16];
};
static struct Sink sink;
static FILE* stream;

static ssize_t put(void* cookie, const char* from, size_t size) {
  struct Sink* to = cookie;
  to->count += (long)size;  // @a
  memcpy(to->last, from, size < sizeof to->last ? size : sizeof to->last);
  return (ssize_t)size;
}

static void* first(void* unused) {
  fputs("first", stream);
  step();
  return unused;
}

static void* second(void* unused) {
  await(1);
  use(sink.count);  // @b
  fprintf(stream, "%s", "second");
  fputc('c', stream);
  return unused;
}

int main(void) {
  cookie_io_functions_t const functions = {.write = put};
  stream = fopencookie(&sink, "w", functions);
  setvbuf(stream, NULL, _IONBF, 0);
  run2(first, second);
  fclose(stream);
  if (sink.count != 12) abort();
}
