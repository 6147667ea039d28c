// Telling the lane about strings, narrow and wide.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

template <class Char>
size_t length(const Char* s) {
  size_t n = 0;
  while (s[n] != 0) ++n;
  return n;
}
// At most `limit` characters are looked at.
template <class Char>
size_t length(const Char* s, size_t limit) {
  size_t n = 0;
  while (n < limit && s[n] != 0) ++n;
  return n;
}
// How many characters of each a comparison looks at: up to and with the first difference, or the end.
template <class Char, class Fold>
size_t compared(const Char* a, const Char* b, size_t limit, Fold fold) {
  size_t n = 0;
  while (n < limit) {
    ++n;
    if (fold(a[n - 1]) != fold(b[n - 1]) || a[n - 1] == 0) break;
  }
  return n;
}

template <class Char>
void reads_chars(const Char* from, size_t count, lane::Pc pc) {
  if (count != 0) lane::read(from, count * sizeof(Char), pc);
}
template <class Char>
void writes_chars(Char* to, size_t count, lane::Pc pc) {
  if (count != 0) lane::write(to, count * sizeof(Char), pc);
}
// The whole string and its end.
template <class Char>
size_t reads_string(const Char* s, lane::Pc pc) {
  size_t const n = length(s);
  reads_chars(s, n + 1, pc);
  return n;
}

}  // namespace deadheat::interpose
