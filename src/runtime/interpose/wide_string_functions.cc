// The wide twins of string_functions.cc.
#include <wchar.h>
#include <wctype.h>

#include "runtime/interpose/allocator.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

constexpr size_t kNoLimit = ~size_t{0};
struct Same {
  wchar_t operator()(wchar_t c) const { return c; }
};
struct Folded {
  wchar_t operator()(wchar_t c) const { return c >= L'A' && c <= L'Z' ? c + 32 : c; }
};

template <class Fold>
void reads_both(const wchar_t* a, const wchar_t* b, size_t limit, lane::Pc pc) {
  size_t const n = compared(a, b, limit, Fold{});
  reads_chars(a, n, pc);
  reads_chars(b, n, pc);
}
size_t found_at(const wchar_t* s, const wchar_t* found) {
  return found != nullptr ? static_cast<size_t>(found - s) + 1 : length(s) + 1;
}
void copies_string(wchar_t* to, const wchar_t* from, lane::Pc pc) {
  size_t const n = reads_string(from, pc);
  writes_chars(to, n + 1, pc);
}
void copies_padded(wchar_t* to, const wchar_t* from, size_t size, lane::Pc pc) {
  size_t const n = length(from, size);
  reads_chars(from, n < size ? n + 1 : n, pc);
  writes_chars(to, size, pc);
}
void appends(wchar_t* to, const wchar_t* from, size_t limit, lane::Pc pc) {
  size_t const old = reads_string(to, pc);
  size_t const n = length(from, limit);
  reads_chars(from, n < limit ? n + 1 : n, pc);
  writes_chars(to + old, n + 1, pc);
}

}  // namespace

INTERPOSE_ACCESSES(size_t, wcslen, const wchar_t* s) {
  size_t const result = REAL(wcslen)(s);
  reads_chars(s, result + 1, CALLER);
  return result;
}
INTERPOSE_ACCESSES(size_t, wcsnlen, const wchar_t* s, size_t limit) {
  size_t const result = REAL(wcsnlen)(s, limit);
  reads_chars(s, result < limit ? result + 1 : result, CALLER);
  return result;
}
INTERPOSE_ACCESSES(wchar_t*, wcscpy, wchar_t* to, const wchar_t* from) {
  copies_string(to, from, CALLER);
  return REAL(wcscpy)(to, from);
}
INTERPOSE_ACCESSES(wchar_t*, wcpcpy, wchar_t* to, const wchar_t* from) {
  copies_string(to, from, CALLER);
  return REAL(wcpcpy)(to, from);
}
INTERPOSE_ACCESSES(wchar_t*, wcsncpy, wchar_t* to, const wchar_t* from, size_t size) {
  copies_padded(to, from, size, CALLER);
  return REAL(wcsncpy)(to, from, size);
}
INTERPOSE_ACCESSES(wchar_t*, wcpncpy, wchar_t* to, const wchar_t* from, size_t size) {
  copies_padded(to, from, size, CALLER);
  return REAL(wcpncpy)(to, from, size);
}
INTERPOSE_ACCESSES(wchar_t*, wcscat, wchar_t* to, const wchar_t* from) {
  appends(to, from, kNoLimit, CALLER);
  return REAL(wcscat)(to, from);
}
INTERPOSE_ACCESSES(wchar_t*, wcsncat, wchar_t* to, const wchar_t* from, size_t limit) {
  appends(to, from, limit, CALLER);
  return REAL(wcsncat)(to, from, limit);
}
INTERPOSE_ACCESSES(wchar_t*, __wcscpy_chk, wchar_t* to, const wchar_t* from, size_t room) {
  if (length(from) < room) copies_string(to, from, CALLER);
  return REAL(__wcscpy_chk)(to, from, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wcpcpy_chk, wchar_t* to, const wchar_t* from, size_t room) {
  if (length(from) < room) copies_string(to, from, CALLER);
  return REAL(__wcpcpy_chk)(to, from, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wcsncpy_chk, wchar_t* to, const wchar_t* from, size_t size, size_t room) {
  if (size <= room) copies_padded(to, from, size, CALLER);
  return REAL(__wcsncpy_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wcpncpy_chk, wchar_t* to, const wchar_t* from, size_t size, size_t room) {
  if (size <= room) copies_padded(to, from, size, CALLER);
  return REAL(__wcpncpy_chk)(to, from, size, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wcscat_chk, wchar_t* to, const wchar_t* from, size_t room) {
  if (length(to) + length(from) < room) appends(to, from, kNoLimit, CALLER);
  return REAL(__wcscat_chk)(to, from, room);
}
INTERPOSE_ACCESSES(wchar_t*, __wcsncat_chk, wchar_t* to, const wchar_t* from, size_t limit, size_t room) {
  if (length(to) + length(from, limit) < room) appends(to, from, limit, CALLER);
  return REAL(__wcsncat_chk)(to, from, limit, room);
}
INTERPOSE_ACCESSES(int, wcscmp, const wchar_t* a, const wchar_t* b) {
  reads_both<Same>(a, b, kNoLimit, CALLER);
  return REAL(wcscmp)(a, b);
}
INTERPOSE_ACCESSES(int, wcsncmp, const wchar_t* a, const wchar_t* b, size_t limit) {
  reads_both<Same>(a, b, limit, CALLER);
  return REAL(wcsncmp)(a, b, limit);
}
INTERPOSE_ACCESSES(int, wcscasecmp, const wchar_t* a, const wchar_t* b) {
  reads_both<Folded>(a, b, kNoLimit, CALLER);
  return REAL(wcscasecmp)(a, b);
}
INTERPOSE_ACCESSES(int, wcsncasecmp, const wchar_t* a, const wchar_t* b, size_t limit) {
  reads_both<Folded>(a, b, limit, CALLER);
  return REAL(wcsncasecmp)(a, b, limit);
}
INTERPOSE_ACCESSES(wchar_t*, wcschr, const wchar_t* s, wchar_t c) {
  wchar_t* const result = REAL(wcschr)(s, c);
  reads_chars(s, found_at(s, result), CALLER);
  return result;
}
INTERPOSE_ACCESSES(wchar_t*, wcschrnul, const wchar_t* s, wchar_t c) {
  wchar_t* const result = REAL(wcschrnul)(s, c);
  reads_chars(s, found_at(s, result), CALLER);
  return result;
}
INTERPOSE_ACCESSES(wchar_t*, wcsrchr, const wchar_t* s, wchar_t c) {
  reads_string(s, CALLER);
  return REAL(wcsrchr)(s, c);
}
INTERPOSE_ACCESSES(wchar_t*, wcsstr, const wchar_t* s, const wchar_t* part) {
  wchar_t* const found = REAL(wcsstr)(s, part);
  size_t const n = reads_string(part, CALLER);
  reads_chars(s, found != nullptr ? static_cast<size_t>(found - s) + n : length(s) + 1, CALLER);
  return found;
}
INTERPOSE_ACCESSES(size_t, wcsspn, const wchar_t* s, const wchar_t* set) {
  size_t const result = REAL(wcsspn)(s, set);
  reads_chars(s, result + 1, CALLER);
  reads_string(set, CALLER);
  return result;
}
INTERPOSE_ACCESSES(size_t, wcscspn, const wchar_t* s, const wchar_t* set) {
  size_t const result = REAL(wcscspn)(s, set);
  reads_chars(s, result + 1, CALLER);
  reads_string(set, CALLER);
  return result;
}
INTERPOSE_ACCESSES(wchar_t*, wcspbrk, const wchar_t* s, const wchar_t* set) {
  wchar_t* const result = REAL(wcspbrk)(s, set);
  reads_chars(s, found_at(s, result), CALLER);
  reads_string(set, CALLER);
  return result;
}
REPLACE(wchar_t*, wcsdup, const wchar_t* s) {
  auto const pc = CALLER;
  size_t const n = reads_string(s, pc);
  auto* const copy = static_cast<wchar_t*>(allocate((n + 1) * sizeof(wchar_t), pc));
  if (copy == nullptr) return nullptr;
  writes_chars(copy, n + 1, pc);
  for (size_t i = 0; i <= n; ++i) copy[i] = s[i];
  return copy;
}
INTERPOSE_ACCESSES(wchar_t*, wcstok, wchar_t* s, const wchar_t* set, wchar_t** rest) {
  auto const pc = CALLER;
  if (s == nullptr) lane::read(rest, sizeof *rest, pc);
  wchar_t* const start = s != nullptr ? s : *rest;
  wchar_t* const token = REAL(wcstok)(s, set, rest);
  reads_string(set, pc);
  if (start != nullptr) {
    // Up to the end of the token; if something is left of the string, the token's end was written.
    wchar_t* const end = token != nullptr ? token + length(token) : start + length(start);
    reads_chars(start, static_cast<size_t>(end - start) + 1, pc);
    if (token != nullptr && *rest != nullptr) lane::write(end, sizeof *end, pc);
  }
  lane::write(rest, sizeof *rest, pc);
  return token;
}

// --- Between wide and multibyte

INTERPOSE_ACCESSES(size_t, mbstowcs, wchar_t* to, const char* from, size_t size) {
  auto const pc = CALLER;
  reads_string(from, pc);
  size_t const n = REAL(mbstowcs)(to, from, size);
  if (to != nullptr && n != ~size_t{0}) writes_chars(to, n < size ? n + 1 : n, pc);
  return n;
}
INTERPOSE_ACCESSES(size_t, wcstombs, char* to, const wchar_t* from, size_t size) {
  auto const pc = CALLER;
  reads_string(from, pc);
  size_t const n = REAL(wcstombs)(to, from, size);
  if (to != nullptr && n != ~size_t{0}) writes_chars(to, n < size ? n + 1 : n, pc);
  return n;
}
