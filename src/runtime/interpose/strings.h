// Telling the lane about strings, narrow and wide.
#pragma once

#include <emmintrin.h>

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// Sixteen bytes at a time, aligned, so that nothing is loaded from a page that the string does not touch.
// REQUIRES: a zero within the first `limit` bytes, or at least `limit` bytes.
inline size_t length(const char* s, size_t limit) {
  auto const start = reinterpret_cast<uintptr_t>(s);
  uintptr_t at = start & ~uintptr_t{15};
  __m128i const zero = _mm_setzero_si128();
  auto const zeros_in = [&](uintptr_t block) {
    __m128i const bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(block));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero)));
  };
  if (limit == 0) return 0;
  unsigned zeros = zeros_in(at) >> (start - at) << (start - at);
  while (zeros == 0) {
    at += 16;
    if (at - start >= limit) return limit;
    zeros = zeros_in(at);
  }
  size_t const n = at + static_cast<unsigned>(__builtin_ctz(zeros)) - start;
  return n < limit ? n : limit;
}
inline size_t length(const char* s) { return length(s, ~size_t{0}); }

inline size_t length(const wchar_t* s) {
  size_t n = 0;
  while (s[n] != 0) ++n;
  return n;
}
// At most `limit` characters are looked at.
inline size_t length(const wchar_t* s, size_t limit) {
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
