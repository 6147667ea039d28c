// rule: library results
// claim: wide input fills the program's places, and wide output reads its strings
// expect: race write@a read@b
// expect: race write@c read@d
// expect: race read@e write@f
#include <stdio.h>
#include <wchar.h>

#include "../order.h"

wchar_t line[8], text[8];
int number;
FILE *in, *out;

static void* first(void* _) {
  if (fgetws(line, 8, in) == NULL) abort();       // @a
  if (fwscanf(in, L"%d", &number) != 1) abort();  // @c
  if (fwprintf(out, L"%ls", text) != 3) abort();  // @e
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(line[1]);    // @b
  use(number);     // @d
  text[1] = L'x';  // @f
  return NULL;
}

int main(void) {
  in = tmpfile();
  out = tmpfile();
  if (in == NULL || out == NULL) abort();
  fputws(L"abc\n12\n", in);
  rewind(in);
  wcscpy(text, L"abc");
  run2(first, second);
}
