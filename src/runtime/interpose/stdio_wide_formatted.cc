// The wide twins of stdio_formatted.cc.
//
// Every variadic form calls the real one that takes a va_list.
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "runtime/interpose/formats.h"
#include "runtime/interpose/streams.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

// --- To a stream

DECLARE_REAL_OF(int, vfwprintf, FILE* stream, const wchar_t* format, va_list list);
DECLARE_REAL_OF(int, __vfwprintf_chk, FILE* stream, int flag, const wchar_t* format, va_list list);
namespace {
int print(FILE* stream, const wchar_t* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(vfwprintf)(stream, format, list);
}
int print_checked(FILE* stream, int flag, const wchar_t* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(__vfwprintf_chk)(stream, flag, format, list);
}
}  // namespace

INTERPOSE_ONLY(int, vfwprintf, FILE* stream, const wchar_t* format, va_list list) {
  return print(stream, format, list, CALLER);
}
REPLACE(int, vwprintf, const wchar_t* format, va_list list) { return print(stdout, format, list, CALLER); }
REPLACE(int, fwprintf, FILE* stream, const wchar_t* format, ...) {
  WITH_LIST(format, print(stream, format, list, CALLER));
}
REPLACE(int, wprintf, const wchar_t* format, ...) { WITH_LIST(format, print(stdout, format, list, CALLER)); }
INTERPOSE_ONLY(int, __vfwprintf_chk, FILE* stream, int flag, const wchar_t* format, va_list list) {
  return print_checked(stream, flag, format, list, CALLER);
}
REPLACE(int, __vwprintf_chk, int flag, const wchar_t* format, va_list list) {
  return print_checked(stdout, flag, format, list, CALLER);
}
REPLACE(int, __fwprintf_chk, FILE* stream, int flag, const wchar_t* format, ...) {
  WITH_LIST(format, print_checked(stream, flag, format, list, CALLER));
}
REPLACE(int, __wprintf_chk, int flag, const wchar_t* format, ...) {
  WITH_LIST(format, print_checked(stdout, flag, format, list, CALLER));
}

// --- To memory

DECLARE_REAL_OF(int, vswprintf, wchar_t* to, size_t size, const wchar_t* format, va_list list);
DECLARE_REAL_OF(int, __vswprintf_chk, wchar_t* to, size_t size, int flag, size_t room, const wchar_t* format,
                va_list list);
namespace {
int print_to(wchar_t* to, size_t size, const wchar_t* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  return printed(to, size, REAL(vswprintf)(to, size, format, list), pc);
}
int print_to_checked(wchar_t* to, size_t size, int flag, size_t room, const wchar_t* format, va_list list,
                     lane::Pc pc) {
  printf_reads(format, list, pc);
  return printed(to, size, REAL(__vswprintf_chk)(to, size, flag, room, format, list), pc);
}
}  // namespace

INTERPOSE_ONLY(int, vswprintf, wchar_t* to, size_t size, const wchar_t* format, va_list list) {
  return print_to(to, size, format, list, CALLER);
}
REPLACE(int, swprintf, wchar_t* to, size_t size, const wchar_t* format, ...) {
  WITH_LIST(format, print_to(to, size, format, list, CALLER));
}
INTERPOSE_ONLY(int, __vswprintf_chk, wchar_t* to, size_t size, int flag, size_t room, const wchar_t* format,
               va_list list) {
  return print_to_checked(to, size, flag, room, format, list, CALLER);
}
REPLACE(int, __swprintf_chk, wchar_t* to, size_t size, int flag, size_t room, const wchar_t* format, ...) {
  WITH_LIST(format, print_to_checked(to, size, flag, room, format, list, CALLER));
}

// --- Reading. Programs compiled as C99 or later call the __isoc99_ forms.

#define SCANS(prefix)                                                                               \
  DECLARE_REAL_OF(int, prefix##vswscanf, const wchar_t* from, const wchar_t* format, va_list list); \
  DECLARE_REAL_OF(int, prefix##vfwscanf, FILE* stream, const wchar_t* format, va_list list);        \
  namespace {                                                                                       \
  int prefix##scan_string(const wchar_t* from, const wchar_t* format, va_list list, lane::Pc pc) {  \
    reads_string(from, pc);                                                                         \
    va_list places;                                                                                 \
    va_copy(places, list);                                                                          \
    int const count = REAL(prefix##vswscanf)(from, format, list);                                   \
    scanf_writes(format, places, count, pc);                                                        \
    va_end(places);                                                                                 \
    return count;                                                                                   \
  }                                                                                                 \
  int prefix##scan_stream(FILE* stream, const wchar_t* format, va_list list, lane::Pc pc) {         \
    va_list places;                                                                                 \
    va_copy(places, list);                                                                          \
    StreamOperation const operation(stream, Direction::kIn);                                        \
    int const count = REAL(prefix##vfwscanf)(stream, format, list);                                 \
    scanf_writes(format, places, count, pc);                                                        \
    va_end(places);                                                                                 \
    return count;                                                                                   \
  }                                                                                                 \
  }                                                                                                 \
  INTERPOSE_ONLY(int, prefix##vswscanf, const wchar_t* from, const wchar_t* format, va_list list) { \
    return prefix##scan_string(from, format, list, CALLER);                                         \
  }                                                                                                 \
  REPLACE(int, prefix##swscanf, const wchar_t* from, const wchar_t* format, ...) {                  \
    WITH_LIST(format, prefix##scan_string(from, format, list, CALLER));                             \
  }                                                                                                 \
  INTERPOSE_ONLY(int, prefix##vfwscanf, FILE* stream, const wchar_t* format, va_list list) {        \
    return prefix##scan_stream(stream, format, list, CALLER);                                       \
  }                                                                                                 \
  REPLACE(int, prefix##fwscanf, FILE* stream, const wchar_t* format, ...) {                         \
    WITH_LIST(format, prefix##scan_stream(stream, format, list, CALLER));                           \
  }                                                                                                 \
  REPLACE(int, prefix##vwscanf, const wchar_t* format, va_list list) {                              \
    return prefix##scan_stream(stdin, format, list, CALLER);                                        \
  }                                                                                                 \
  REPLACE(int, prefix##wscanf, const wchar_t* format, ...) {                                        \
    WITH_LIST(format, prefix##scan_stream(stdin, format, list, CALLER));                            \
  }
SCANS()
SCANS(__isoc99_)
