// rule: file descriptors
// claim: what wide functions, and those for words, read from a stream was written before
// expect: nothing
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include "../order.h"

enum { IN = 11, OUT = 8 };
int before_bytes[IN], before_output[OUT];
int in[IN][2], out[OUT][2];
FILE *readers[IN], *writers[OUT];

static void print(int i, FILE* to) {
  switch (i) {
    case 0: putwc(L'a', to); break;
    case 1: fputwc(L'a', to); break;
    case 2: fputws(L"a", to); break;
    case 3: fwprintf(to, L"%lc", L'a'); break;
    case 4: putw(0x61616161, to); break;
    case 5: fputwc_unlocked(L'a', to); break;
    case 6: putwc_unlocked(L'a', to); break;
    case 7: fputws_unlocked(L"a", to); break;
  }
  fflush(to);
}

static void scan(int i, FILE* from) {
  wchar_t text[8];
  switch (i) {
    case 0: use(getwc(from)); break;
    case 1: use(fgetwc(from)); break;
    case 2: use(fgetws(text, 8, from) == text); break;
    case 3: use(fwscanf(from, L"%7ls", text)); break;
    case 4: use(getw(from)); break;
    case 5: use(fgetwc_unlocked(from)); break;
    case 6: use(getwc_unlocked(from)); break;
    case 7: use(fgetws_unlocked(text, 8, from) == text); break;
    case 8: use(getwchar()); break;
    case 9: use(getwchar_unlocked()); break;
    case 10: use(wscanf(L"%7ls", text)); break;
  }
}

static void* sender(void* _) {
  for (int i = 0; i < IN; i++) {
    before_bytes[i] = 1;
    if (write(in[i][1], "aaa\n", 4) != 4) abort();
  }
  for (int i = 0; i < OUT; i++) {
    before_output[i] = 1;
    print(i, writers[i]);
  }
  return NULL;
}

static void* receiver(void* _) {
  for (int i = 0; i < IN; i++) {
    // The standard stream for those that know no other.
    FILE* const own = stdin;
    if (i >= 8) stdin = readers[i];
    scan(i, readers[i]);
    stdin = own;
    before_bytes[i] = 2;
  }
  for (int i = 0; i < OUT; i++) {
    char byte;
    if (read(out[i][0], &byte, 1) != 1 || byte != 'a') abort();
    before_output[i] = 2;
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < IN; i++)
    if (pipe(in[i]) != 0 || (readers[i] = fdopen(in[i][0], "r")) == NULL) abort();
  for (int i = 0; i < OUT; i++)
    if (pipe(out[i]) != 0 || (writers[i] = fdopen(out[i][1], "w")) == NULL) abort();
  run2(sender, receiver);
}
