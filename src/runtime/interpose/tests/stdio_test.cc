// Streams: buffers, formats, order through the stream and through what is behind it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include <initializer_list>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" int record_objects;  // those without a name appear as #1, #2, ...

static char a[64];
static char b[64];

static void set(char* to, const char* text) {
  for (size_t i = 0; i < 64; ++i) to[i] = 0;
  for (size_t i = 0; text[i] != 0; ++i) to[i] = text[i];
}

static void streams() {
  char path[] = "/tmp/deadheat-stdio-XXXXXX";
  int const fd = mkstemp(path);
  CHECK(fd >= 0);
  FILE* f = fdopen(fd, "w+");
  record_name(f, 1, "f");
  set(a, "hello\n");
  EXPECT(CHECK(fwrite(a, 2, 3, f) == 3), "read a 6; release f");
  EXPECT(CHECK(fputs(a, f) >= 0), "read a 7; release f");
  EXPECT(CHECK(fprintf(f, "%d %s|%.3s|%*d %n\n", 7, a + 3, a, 4, 5, reinterpret_cast<int*>(b)) > 0),
         "read a+3 4; read a 3; write b 4; release f");
  EXPECT(CHECK(fputc('x', f) == 'x'), "release f");
  EXPECT(rewind(f), "release f");
  EXPECT(CHECK(fread(b, 1, 4, f) == 4), "write b 4; acquire f");
  EXPECT(CHECK(fgets(b, 64, f) == b), "write b 3; acquire f");
  CHECK(b[0] == 'o' && b[1] == '\n');
  char* line = nullptr;
  size_t room = 0;
  record_name(&line, sizeof line, "line");
  record_name(&room, sizeof room, "room");
  EXPECT(CHECK(getline(&line, &room, f) == 6), "write line 8; write room 8; acquire f");
  free(line);
  int value = 0;
  record_name(&value, sizeof value, "value");
  EXPECT(CHECK(fscanf(f, "%d %s", &value, b) == 2 && value == 7), "write value 4; write b 3; acquire f");
  EXPECT(flockfile(f), "lock f X; acquire f");
  EXPECT(CHECK(ftrylockfile(f) == 0), "");
  EXPECT(funlockfile(f), "");
  EXPECT(funlockfile(f), "release f; unlock f");
  record_begin();
  fclose(f);
  CHECK(strstr(record_end(), "acquire f; forget f") == record_end());
  unlink(path);
}

// Wide characters, and a stream is either wide or not.
static void wide() {
  wchar_t w[8];
  FILE* const f = tmpfile();
  record_name(f, 1, "f");
  record_name(w, sizeof w, "w");
  w[0] = L'a', w[1] = L'b', w[2] = 0;
  EXPECT(CHECK(fputws(w, f) >= 0), "read w 12; release f");
  EXPECT(CHECK(fputws_unlocked(w, f) >= 0), "read w 12");
  EXPECT(CHECK(fwprintf(f, L"%.1ls %n\n", w, reinterpret_cast<int*>(b)) == 3),
         "read w 4; write b 4; release f");
  EXPECT(CHECK(putwc(L'7', f) == L'7'), "release f");
  EXPECT(CHECK(fputwc_unlocked(L'8', f) == L'8'), "");
  EXPECT(rewind(f), "release f");
  EXPECT(CHECK(getwc(f) == L'a'), "acquire f");
  EXPECT(CHECK(ungetwc(L'a', f) == L'a'), "acquire f");
  EXPECT(CHECK(getwc_unlocked(f) == L'a'), "");
  EXPECT(CHECK(fgetws(w, 3, f) == w), "write w 12; acquire f");
  EXPECT(CHECK(fgetws_unlocked(w, 8, f) == w), "write w 20");
  int value = 0;
  record_name(&value, sizeof value, "value");
  EXPECT(CHECK(fwscanf(f, L"%d%ls", &value, w) == 1 && value == 78), "write value 4; acquire f");
  EXPECT(CHECK(swscanf(w, L"%ls", b) == 1), "read w 20; write b 12");
  fclose(f);
}

static void memory() {
  set(a, "hello");
  EXPECT(CHECK(snprintf(b, 64, "%s-%d", a, 5) == 7), "read a 6; write b 8");
  EXPECT(CHECK(snprintf(b, 4, "%s-%d", a, 5) == 7), "read a 6; write b 4");
  EXPECT(CHECK(snprintf(b, 0, "%f", 1.0) == 8), "");
  EXPECT(CHECK(sprintf(b, "%s%Lf%c", a, 1.0L, 'x') == 14), "read a 6; write b 15");
  EXPECT(CHECK(sprintf(b, "%2$s%1$s", "x", a) == 6), "write b 7");  // numbered: only the destination
  char* text = nullptr;
  record_name(&text, sizeof text, "text");
  EXPECT(CHECK(asprintf(&text, "%s!", a) == 6), "read a 6; write text 8");
  free(text);
  set(a, "12 word 3.5 c");
  int i = 0;
  double d = 0;
  char c = 0;
  short h = 0;
  record_name(&i, sizeof i, "i");
  record_name(&d, sizeof d, "d");
  record_name(&c, sizeof c, "c");
  record_name(&h, sizeof h, "h");
  EXPECT(CHECK(sscanf(a, "%d %s %lf %c", &i, b, &d, &c) == 4),
         "read a 14; write i 4; write b 5; write d 8; write c 1");
  EXPECT(CHECK(sscanf(a, "%*d %[a-z]%n y%hd", b, &i, &h) == 1), "read a 14; write b 5; write i 4");
  EXPECT(CHECK(sscanf(a, "x%d", &i) == 0), "read a 14");
  EXPECT(CHECK(sscanf(a, "%hd", &h) == 1), "read a 14; write h 2");
  wchar_t w[8];
  record_name(w, sizeof w, "w");
  EXPECT(CHECK(swprintf(w, 8, L"%ls", L"abc") == 3), "write w 16");
}

static ssize_t put(void* to, const char* from, size_t size) {
  *static_cast<char*>(to) = *from;
  return static_cast<ssize_t>(size);
}
static int ends(void* cookie) { return cookie == a ? 0 : -1; }

// The second stream uses again what the first one needed.
static void functions_of_the_program() {
  cookie_io_functions_t functions = {};
  functions.write = put;
  functions.close = ends;
  record_objects = 1;
  for (int i = 0; i < 2; ++i) {
    FILE* const stream = fopencookie(a, "w", functions);
    CHECK(setvbuf(stream, nullptr, _IONBF, 0) == 0);
    EXPECT(CHECK(fputc('x', stream) == 'x'), "release #1; acquire #2; release #2");
    CHECK(a[0] == 'x' && fclose(stream) == 0);
  }
  record_objects = 0;
  functions.write = nullptr;
  FILE* const silent = fopencookie(b, "r", functions);
  CHECK(fgetc(silent) == EOF && fclose(silent) == -1);
  CHECK(fopencookie(a, "?", functions) == nullptr);
}

int main() {
  record_name(a, sizeof a, "a");
  record_name(b, sizeof b, "b");
  streams();
  for (void (*const test)() : {wide, memory, functions_of_the_program}) {
    record_forget_names();
    record_name(a, sizeof a, "a");
    record_name(b, sizeof b, "b");
    test();
  }
  return 0;
}
