// rule: library results
// claim: wide input fills no more than what it read, and wide output reads no more than it prints
// expect: nothing
#include <stdio.h>
#include <wchar.h>

#include "../order.h"

wchar_t line[8], text[8];
int number, other;
FILE *in, *out;

static void* first(void* _) {
  if (fgetws(line, 8, in) == NULL) abort();
  if (fwscanf(in, L"%d %d", &number, &other) != 1) abort();
  if (fwprintf(out, L"%.3ls", text) != 3) abort();
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  line[5] = L'x';
  other = 1;
  text[3] = L'x';
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
