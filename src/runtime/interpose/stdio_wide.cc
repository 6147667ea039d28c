// The wide twins of stdio.cc: lines, characters. Formats are in stdio_wide_formatted.cc.
#include <stdio.h>
#include <wchar.h>

#include "runtime/interpose/streams.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

// --- Lines

namespace {
wchar_t* got_line(wchar_t* got, lane::Pc pc) {
  if (got != nullptr) lane::write(got, (length(got) + 1) * sizeof(wchar_t), pc);
  return got;
}
}  // namespace

INTERPOSE(wchar_t*, fgetws, wchar_t* to, int size, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  return got_line(REAL(fgetws)(to, size, stream), CALLER);
}
INTERPOSE(wchar_t*, __fgetws_chk, wchar_t* to, size_t room, int size, FILE* stream) {
  StreamOperation const operation(stream, Direction::kIn);
  return got_line(REAL(__fgetws_chk)(to, room, size, stream), CALLER);
}
INTERPOSE(wchar_t*, fgetws_unlocked, wchar_t* to, int size, FILE* stream) {
  wchar_t* const got = got_line(REAL(fgetws_unlocked)(to, size, stream), CALLER);
  after_receiving(descriptor_of(stream));
  return got;
}
INTERPOSE(wchar_t*, __fgetws_unlocked_chk, wchar_t* to, size_t room, int size, FILE* stream) {
  wchar_t* const got = got_line(REAL(__fgetws_unlocked_chk)(to, room, size, stream), CALLER);
  after_receiving(descriptor_of(stream));
  return got;
}
INTERPOSE(int, fputws, const wchar_t* s, FILE* stream) {
  reads_string(s, CALLER);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(fputws)(s, stream);
}
INTERPOSE(int, fputws_unlocked, const wchar_t* s, FILE* stream) {
  reads_string(s, CALLER);
  before_sending(descriptor_of(stream));
  return REAL(fputws_unlocked)(s, stream);
}

// --- Characters: only the order

ON_STREAM(wint_t, fgetwc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(wint_t, getwc, kIn, (FILE * stream), (stream), stream)
ON_STREAM(wint_t, getwchar, kIn, (void), (), stdin)
ON_STREAM(wint_t, ungetwc, kIn, (wint_t c, FILE* stream), (c, stream), stream)
ON_STREAM(wint_t, fputwc, kOut, (wchar_t c, FILE* stream), (c, stream), stream)
ON_STREAM(wint_t, putwc, kOut, (wchar_t c, FILE* stream), (c, stream), stream)
ON_STREAM(wint_t, putwchar, kOut, (wchar_t c), (c), stdout)

// __woverflow and __wuflow: what the macros of these names in old headers come to.
UNLOCKED_OUT(wint_t, fputwc_unlocked, (wchar_t c, FILE* stream), (c, stream), stream)
UNLOCKED_OUT(wint_t, putwc_unlocked, (wchar_t c, FILE* stream), (c, stream), stream)
UNLOCKED_OUT(wint_t, putwchar_unlocked, (wchar_t c), (c), stdout)
UNLOCKED_OUT(wint_t, __woverflow, (FILE * stream, wint_t c), (stream, c), stream)
UNLOCKED_IN(wint_t, fgetwc_unlocked, (FILE * stream), (stream), stream)
UNLOCKED_IN(wint_t, getwc_unlocked, (FILE * stream), (stream), stream)
UNLOCKED_IN(wint_t, getwchar_unlocked, (void), (), stdin)
UNLOCKED_IN(wint_t, __wuflow, (FILE * stream), (stream), stream)
