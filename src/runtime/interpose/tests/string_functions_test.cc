// Strings: exactly the characters looked at and written.
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" char* __strcpy_chk(char*, const char*, size_t);
extern "C" char* __strncat_chk(char*, const char*, size_t, size_t);

static char a[64];
static char b[64];
static wchar_t wa[16];
static wchar_t wb[16];

static void set(char* to, const char* text) {
  for (size_t i = 0; i < 64; ++i) to[i] = 0;
  for (size_t i = 0; text[i] != 0; ++i) to[i] = text[i];
}

static void narrow() {
  set(a, "hello");
  set(b, "help");
  EXPECT(CHECK(strlen(a) == 5), "read a 6");
  EXPECT(CHECK(strnlen(a, 3) == 3), "read a 3");
  EXPECT(CHECK(strnlen(a, 9) == 5), "read a 6");
  EXPECT(CHECK(strcmp(a, b) < 0), "read a 4; read b 4");
  EXPECT(CHECK(strncmp(a, b, 3) == 0), "read a 3; read b 3");
  EXPECT(CHECK(strcasecmp(a, "HELLO") == 0), "read a 6");
  EXPECT(CHECK(strncasecmp(a, "HELP", 4) < 0), "read a 4");
  EXPECT(CHECK(strcoll(a, b) < 0), "read a 6; read b 5");
  EXPECT(CHECK(strchr(a, 'l') == a + 2), "read a 3");
  EXPECT(CHECK(strchr(a, 'z') == nullptr), "read a 6");
  EXPECT(CHECK(strchrnul(a, 'z') == a + 5), "read a 6");
  EXPECT(CHECK(strrchr(a, 'l') == a + 3), "read a 6");
  EXPECT(CHECK(index(a, 'e') == a + 1), "read a 2");
  EXPECT(CHECK(strstr(a, "ll") == a + 2), "read a 4");
  EXPECT(CHECK(strcasestr(a, "LL") == a + 2), "read a 4");
  EXPECT(CHECK(strstr(a, "lp") == nullptr), "read a 6");
  EXPECT(CHECK(strspn(a, "he") == 2), "read a 3");
  EXPECT(CHECK(strcspn(a, "l") == 2), "read a 3");
  EXPECT(CHECK(strpbrk(a, "ol") == a + 2), "read a 3");
  EXPECT(CHECK(strcpy(b, a) == b), "read a 6; write b 6");
  EXPECT(CHECK(stpcpy(b, a) == b + 5), "read a 6; write b 6");
  EXPECT(strncpy(b, a, 10), "read a 6; write b 10");
  EXPECT(strncpy(b, a, 3), "read a 3; write b 3");
  EXPECT(stpncpy(b, a, 3), "read a 3; write b 3");
  set(b, "ab");
  EXPECT(strcat(b, a), "read b 3; read a 6; write b+2 6");
  set(b, "ab");
  EXPECT(strncat(b, a, 2), "read b 3; read a 2; write b+2 3");
  CHECK(strcmp(b, "abhe") == 0);
  EXPECT(__strcpy_chk(b, a, 64), "read a 6; write b 6");
  set(b, "ab");
  EXPECT(__strncat_chk(b, a, 2, 64), "read b 3; read a 2; write b+2 3");
  char* copy = nullptr;
  EXPECT(copy = strdup(a), "read a 6");
  CHECK(strcmp(copy, "hello") == 0);
  free(copy);
  EXPECT(copy = strndup(a, 2), "read a 2");
  CHECK(strcmp(copy, "he") == 0);
  free(copy);

  set(a, "one,two");
  char* rest = nullptr;
  record_name(&rest, sizeof rest, "rest");
  EXPECT(CHECK(strtok_r(a, ",", &rest) == a), "read a 4; write a+3 1; write rest 8");
  EXPECT(CHECK(strtok_r(nullptr, ",", &rest) == a + 4), "read rest 8; read a+4 4; write rest 8");
  EXPECT(CHECK(strtok_r(nullptr, ",", &rest) == nullptr), "read rest 8; read a+7 1; write rest 8");
  set(a, "x y");
  EXPECT(CHECK(strcmp(strtok(a, " "), "x") == 0), "read a 2; write a+1 1; read a 2");
  CHECK(strcmp(strtok(nullptr, " "), "y") == 0 && strtok(nullptr, " ") == nullptr);
  set(a, "p:q");
  rest = a;
  EXPECT(CHECK(strsep(&rest, ":") == a), "read rest 8; read a 2; write a+1 1; write rest 8");
}

static void numbers() {
  set(a, "  42x");
  char* end = nullptr;
  record_name(&end, sizeof end, "end");
  EXPECT(CHECK(strtol(a, &end, 10) == 42 && end == a + 4), "read a 5; write end 8");
  EXPECT(CHECK(strtoul(a, nullptr, 10) == 42), "read a 5");
  EXPECT(CHECK(atoi(a) == 42), "read a 5");
  EXPECT(CHECK(atol(a) == 42 && atoll(a) == 42), "read a 5; read a 5");
  set(a, "2.5e1");
  EXPECT(CHECK(strtod(a, &end) == 25.0), "read a 6; write end 8");
  EXPECT(CHECK(atof(a) == 25.0), "read a 6");
  set(a, "none");
  EXPECT(CHECK(strtol(a, &end, 10) == 0 && end == a), "read a 1; write end 8");
}

static void wide() {
  wmemcpy(wa, L"hello", 6);
  EXPECT(CHECK(wcslen(wa) == 5), "read wa 24");
  EXPECT(wcscpy(wb, wa), "read wa 24; write wb 24");
  EXPECT(CHECK(wcscmp(wa, wb) == 0), "read wa 24; read wb 24");
  EXPECT(CHECK(wcschr(wa, L'l') == wa + 2), "read wa 12");
  EXPECT(wcsncpy(wb, wa, 2), "read wa 8; write wb 8");
  EXPECT(wcscat(wb, L"!"), "read wb 24; write wb+20 8");
  EXPECT(CHECK(wcsstr(wa, L"ll") == wa + 2), "read wa 16");
  wchar_t* copy = nullptr;
  EXPECT(copy = wcsdup(wa), "read wa 24");
  CHECK(wcscmp(copy, L"hello") == 0);
  free(copy);
  EXPECT(CHECK(wcstol(wa, nullptr, 10) == 0), "read wa 4");
}

static void name_all() {
  record_forget_names();
  record_name(a, sizeof a, "a");
  record_name(b, sizeof b, "b");
  record_name(wa, sizeof wa, "wa");
  record_name(wb, sizeof wb, "wb");
}

int main() {
  name_all();
  narrow();
  name_all();
  numbers();
  name_all();
  wide();
  return 0;
}
