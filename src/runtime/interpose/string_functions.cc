// Functions on strings: exactly the characters that their definition looks at, terminator included, and those
// they write. strlen reads n + 1 bytes; strcmp up to the first difference; strchr up to the one found.
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "runtime/interpose/allocator.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

constexpr size_t kNoLimit = ~size_t{0};
struct Same {
  unsigned operator()(char c) const { return static_cast<unsigned char>(c); }
};
// ASCII only, like the "C" locale: in others a fold more may end a comparison later, never earlier.
struct Folded {
  unsigned operator()(char c) const {
    auto const u = static_cast<unsigned char>(c);
    return u >= 'A' && u <= 'Z' ? u + 32u : u;
  }
};

template <class Fold>
void reads_both(const char* a, const char* b, size_t limit, lane::Pc pc) {
  size_t const n = compared(a, b, limit, Fold{});
  reads_chars(a, n, pc);
  reads_chars(b, n, pc);
}
size_t found_at(const char* s, const char* found) {
  return found != nullptr ? static_cast<size_t>(found - s) + 1 : length(s) + 1;
}
void copies_string(char* to, const char* from, lane::Pc pc) {
  size_t const n = reads_string(from, pc);
  writes_chars(to, n + 1, pc);
}
// strncpy: fills up with zeros.
void copies_padded(char* to, const char* from, size_t size, lane::Pc pc) {
  size_t const n = length(from, size);
  reads_chars(from, n < size ? n + 1 : n, pc);
  writes_chars(to, size, pc);
}
void appends(char* to, const char* from, size_t limit, lane::Pc pc) {
  size_t const old = reads_string(to, pc);
  size_t const n = length(from, limit);
  reads_chars(from, n < limit ? n + 1 : n, pc);
  writes_chars(to + old, n + 1, pc);
}
char* duplicates(const char* s, size_t limit, lane::Pc pc) {
  size_t const n = length(s, limit);
  reads_chars(s, n < limit ? n + 1 : n, pc);
  auto* const copy = static_cast<char*>(allocate(n + 1, pc));
  if (copy == nullptr) return nullptr;
  lane::write(copy, n + 1, pc);
  for (size_t i = 0; i < n; ++i) copy[i] = s[i];
  copy[n] = 0;
  return copy;
}

}  // namespace

INTERPOSE_ACCESSES(size_t, strlen, const char* s) {
  size_t const n = REAL(strlen)(s);
  reads_chars(s, n + 1, CALLER);
  return n;
}
INTERPOSE_ACCESSES(size_t, strnlen, const char* s, size_t limit) {
  size_t const n = REAL(strnlen)(s, limit);
  reads_chars(s, n < limit ? n + 1 : n, CALLER);
  return n;
}

// --- Copying and appending

INTERPOSE_ACCESSES(char*, strcpy, char* to, const char* from) {
  copies_string(to, from, CALLER);
  return REAL(strcpy)(to, from);
}
INTERPOSE_ACCESSES(char*, stpcpy, char* to, const char* from) {
  copies_string(to, from, CALLER);
  return REAL(stpcpy)(to, from);
}
INTERPOSE_ACCESSES(char*, __stpcpy, char* to, const char* from) {
  copies_string(to, from, CALLER);
  return REAL(__stpcpy)(to, from);
}
INTERPOSE_ACCESSES(char*, strncpy, char* to, const char* from, size_t size) {
  copies_padded(to, from, size, CALLER);
  return REAL(strncpy)(to, from, size);
}
INTERPOSE_ACCESSES(char*, stpncpy, char* to, const char* from, size_t size) {
  copies_padded(to, from, size, CALLER);
  return REAL(stpncpy)(to, from, size);
}
INTERPOSE_ACCESSES(char*, strcat, char* to, const char* from) {
  appends(to, from, kNoLimit, CALLER);
  return REAL(strcat)(to, from);
}
INTERPOSE_ACCESSES(char*, strncat, char* to, const char* from, size_t limit) {
  appends(to, from, limit, CALLER);
  return REAL(strncat)(to, from, limit);
}
// The fortified ones: as above; they end the program if there is too little room.
INTERPOSE_ACCESSES(char*, __strcpy_chk, char* to, const char* from, size_t room) {
  if (length(from) < room) copies_string(to, from, CALLER);
  return REAL(__strcpy_chk)(to, from, room);
}
INTERPOSE_ACCESSES(char*, __stpcpy_chk, char* to, const char* from, size_t room) {
  if (length(from) < room) copies_string(to, from, CALLER);
  return REAL(__stpcpy_chk)(to, from, room);
}
INTERPOSE_ACCESSES(char*, __strncpy_chk, char* to, const char* from, size_t size, size_t room) {
  if (size <= room) copies_padded(to, from, size, CALLER);
  return REAL(__strncpy_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(char*, __stpncpy_chk, char* to, const char* from, size_t size, size_t room) {
  if (size <= room) copies_padded(to, from, size, CALLER);
  return REAL(__stpncpy_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(char*, __strcat_chk, char* to, const char* from, size_t room) {
  if (length(to) + length(from) < room) appends(to, from, kNoLimit, CALLER);
  return REAL(__strcat_chk)(to, from, room);
}
INTERPOSE_ACCESSES(char*, __strncat_chk, char* to, const char* from, size_t limit, size_t room) {
  if (length(to) + length(from, limit) < room) appends(to, from, limit, CALLER);
  return REAL(__strncat_chk)(to, from, limit, room);
}

REPLACE(char*, strdup, const char* s) { return duplicates(s, kNoLimit, CALLER); }
REPLACE(char*, __strdup, const char* s) { return duplicates(s, kNoLimit, CALLER); }
REPLACE(char*, strndup, const char* s, size_t limit) { return duplicates(s, limit, CALLER); }
REPLACE(char*, __strndup, const char* s, size_t limit) { return duplicates(s, limit, CALLER); }

// --- Comparing

INTERPOSE_ACCESSES(int, strcmp, const char* a, const char* b) {
  reads_both<Same>(a, b, kNoLimit, CALLER);
  return REAL(strcmp)(a, b);
}
INTERPOSE_ACCESSES(int, strncmp, const char* a, const char* b, size_t limit) {
  reads_both<Same>(a, b, limit, CALLER);
  return REAL(strncmp)(a, b, limit);
}
INTERPOSE_ACCESSES(int, strcasecmp, const char* a, const char* b) {
  reads_both<Folded>(a, b, kNoLimit, CALLER);
  return REAL(strcasecmp)(a, b);
}
INTERPOSE_ACCESSES(int, strncasecmp, const char* a, const char* b, size_t limit) {
  reads_both<Folded>(a, b, limit, CALLER);
  return REAL(strncasecmp)(a, b, limit);
}
INTERPOSE_ACCESSES(int, strcoll, const char* a, const char* b) {
  reads_string(a, CALLER);
  reads_string(b, CALLER);
  return REAL(strcoll)(a, b);
}
INTERPOSE_ACCESSES(size_t, strxfrm, char* to, const char* from, size_t size) {
  auto const pc = CALLER;
  reads_string(from, pc);
  size_t const n = REAL(strxfrm)(to, from, size);
  if (size != 0) writes_chars(to, n < size ? n + 1 : size, pc);
  return n;
}

// --- Searching

INTERPOSE_ACCESSES(char*, strchr, const char* s, int c) {
  char* const found = REAL(strchr)(s, c);
  reads_chars(s, found_at(s, found), CALLER);
  return found;
}
INTERPOSE_ACCESSES(char*, index, const char* s, int c) {
  char* const found = REAL(index)(s, c);
  reads_chars(s, found_at(s, found), CALLER);
  return found;
}
INTERPOSE_ACCESSES(char*, strchrnul, const char* s, int c) {
  char* const found = REAL(strchrnul)(s, c);
  reads_chars(s, found_at(s, found), CALLER);
  return found;
}
INTERPOSE_ACCESSES(char*, strrchr, const char* s, int c) {
  reads_string(s, CALLER);
  return REAL(strrchr)(s, c);
}
INTERPOSE_ACCESSES(char*, rindex, const char* s, int c) {
  reads_string(s, CALLER);
  return REAL(rindex)(s, c);
}
INTERPOSE_ACCESSES(char*, strstr, const char* s, const char* part) {
  char* const found = REAL(strstr)(s, part);
  size_t const n = reads_string(part, CALLER);
  reads_chars(s, found != nullptr ? static_cast<size_t>(found - s) + n : length(s) + 1, CALLER);
  return found;
}
INTERPOSE_ACCESSES(char*, strcasestr, const char* s, const char* part) {
  char* const found = REAL(strcasestr)(s, part);
  size_t const n = reads_string(part, CALLER);
  reads_chars(s, found != nullptr ? static_cast<size_t>(found - s) + n : length(s) + 1, CALLER);
  return found;
}
INTERPOSE_ACCESSES(size_t, strspn, const char* s, const char* set) {
  size_t const n = REAL(strspn)(s, set);
  reads_chars(s, n + 1, CALLER);
  reads_string(set, CALLER);
  return n;
}
INTERPOSE_ACCESSES(size_t, strcspn, const char* s, const char* set) {
  size_t const n = REAL(strcspn)(s, set);
  reads_chars(s, n + 1, CALLER);
  reads_string(set, CALLER);
  return n;
}
INTERPOSE_ACCESSES(char*, strpbrk, const char* s, const char* set) {
  char* const found = REAL(strpbrk)(s, set);
  reads_chars(s, found_at(s, found), CALLER);
  reads_string(set, CALLER);
  return found;
}

// --- Cutting up: reads the rest of the string up to the end of the token, writes the byte that ends it.

namespace {
// What strtok_r does, with what it touches told.
char* next_token(char* s, const char* set, char** rest, lane::Pc pc) {
  size_t const set_size = reads_string(set, pc);
  auto const separates = [=](char c) {
    for (size_t i = 0; i < set_size; ++i) {
      if (set[i] == c) return true;
    }
    return false;
  };
  if (s == nullptr) s = *rest;
  if (s == nullptr) return nullptr;
  char* start = s;
  while (*start != 0 && separates(*start)) ++start;
  char* end = start;
  while (*end != 0 && !separates(*end)) ++end;
  reads_chars(s, static_cast<size_t>(end - s) + 1, pc);
  if (start == end) {
    *rest = end;
    return nullptr;
  }
  if (*end != 0) {
    lane::write(end, 1, pc);
    *end++ = 0;
  }
  *rest = end;
  return start;
}
char* strtok_rest;  // strtok's own: not for threads, and so a race if they share it
}  // namespace

REPLACE(char*, strtok_r, char* s, const char* set, char** rest) {
  auto const pc = CALLER;
  if (s == nullptr) lane::read(rest, sizeof *rest, pc);
  char* const token = next_token(s, set, rest, pc);
  lane::write(rest, sizeof *rest, pc);
  return token;
}
REPLACE(char*, __strtok_r, char* s, const char* set, char** rest) {
  auto const pc = CALLER;
  if (s == nullptr) lane::read(rest, sizeof *rest, pc);
  char* const token = next_token(s, set, rest, pc);
  lane::write(rest, sizeof *rest, pc);
  return token;
}
REPLACE(char*, strtok, char* s, const char* set) {
  auto const pc = CALLER;
  if (s == nullptr) lane::read(&strtok_rest, sizeof strtok_rest, pc);
  char* const token = next_token(s, set, &strtok_rest, pc);
  lane::write(&strtok_rest, sizeof strtok_rest, pc);
  return token;
}
INTERPOSE_ACCESSES(char*, strsep, char** rest, const char* set) {
  auto const pc = CALLER;
  lane::read(rest, sizeof *rest, pc);
  char* const start = *rest;
  char* const token = REAL(strsep)(rest, set);
  reads_string(set, pc);
  if (start != nullptr) {
    size_t const size = *rest != nullptr ? static_cast<size_t>(*rest - start) : length(start) + 1;
    reads_chars(start, size, pc);
    if (*rest != nullptr) lane::write(*rest - 1, 1, pc);
    lane::write(rest, sizeof *rest, pc);
  }
  return token;
}

// --- Where there is a message or a path to read

INTERPOSE_ACCESSES(char*, realpath, const char* path, char* to) {
  auto const pc = CALLER;
  if (path != nullptr) reads_string(path, pc);
  char* const result = REAL(realpath)(path, to);
  if (result != nullptr) writes_chars(result, length(result) + 1, pc);
  return result;
}
INTERPOSE_ACCESSES(char*, strerror_r, int error, char* to, size_t size) {
  char* const result = REAL(strerror_r)(error, to, size);
  if (result == to && size != 0) writes_chars(to, length(to, size - 1) + 1, CALLER);
  return result;
}
INTERPOSE_ACCESSES(char*, getcwd, char* to, size_t size) {
  char* const result = REAL(getcwd)(to, size);
  if (result != nullptr) writes_chars(result, length(result) + 1, CALLER);
  return result;
}
