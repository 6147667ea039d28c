// printf and scanf, all narrow forms; the wide ones are in stdio_wide_formatted.cc. The destination of
// sprintf and its kin is written up to and with its terminator; strings given to %s are read, places given to
// scanf written (formats.cc).
//
// Every variadic form calls the real one that takes a va_list.
#include <stdarg.h>
#include <stdio.h>

#include "runtime/interpose/allocator.h"
#include "runtime/interpose/formats.h"
#include "runtime/interpose/streams.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

// --- To a stream

DECLARE_REAL_OF(int, vfprintf, FILE* stream, const char* format, va_list list);
DECLARE_REAL_OF(int, __vfprintf_chk, FILE* stream, int flag, const char* format, va_list list);
namespace {
int print(FILE* stream, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(vfprintf)(stream, format, list);
}
int print_checked(FILE* stream, int flag, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  StreamOperation const operation(stream, Direction::kOut);
  return REAL(__vfprintf_chk)(stream, flag, format, list);
}
}  // namespace

INTERPOSE_ONLY(int, vfprintf, FILE* stream, const char* format, va_list list) {
  return print(stream, format, list, CALLER);
}
REPLACE(int, vprintf, const char* format, va_list list) { return print(stdout, format, list, CALLER); }
REPLACE(int, fprintf, FILE* stream, const char* format, ...) {
  WITH_LIST(format, print(stream, format, list, CALLER));
}
REPLACE(int, printf, const char* format, ...) { WITH_LIST(format, print(stdout, format, list, CALLER)); }
INTERPOSE_ONLY(int, __vfprintf_chk, FILE* stream, int flag, const char* format, va_list list) {
  return print_checked(stream, flag, format, list, CALLER);
}
REPLACE(int, __vprintf_chk, int flag, const char* format, va_list list) {
  return print_checked(stdout, flag, format, list, CALLER);
}
REPLACE(int, __fprintf_chk, FILE* stream, int flag, const char* format, ...) {
  WITH_LIST(format, print_checked(stream, flag, format, list, CALLER));
}
REPLACE(int, __printf_chk, int flag, const char* format, ...) {
  WITH_LIST(format, print_checked(stdout, flag, format, list, CALLER));
}

// --- To a descriptor

DECLARE_REAL_OF(int, vdprintf, int fd, const char* format, va_list list);
DECLARE_REAL_OF(int, __vdprintf_chk, int fd, int flag, const char* format, va_list list);
INTERPOSE_ONLY(int, vdprintf, int fd, const char* format, va_list list) {
  printf_reads(format, list, CALLER);
  before_sending(fd);
  return REAL(vdprintf)(fd, format, list);
}
INTERPOSE_ONLY(int, __vdprintf_chk, int fd, int flag, const char* format, va_list list) {
  printf_reads(format, list, CALLER);
  before_sending(fd);
  return REAL(__vdprintf_chk)(fd, flag, format, list);
}
REPLACE(int, dprintf, int fd, const char* format, ...) {
  auto const pc = CALLER;
  va_list list;
  va_start(list, format);
  printf_reads(format, list, pc);
  before_sending(fd);
  int const result = REAL(vdprintf)(fd, format, list);
  va_end(list);
  return result;
}
REPLACE(int, __dprintf_chk, int fd, int flag, const char* format, ...) {
  auto const pc = CALLER;
  va_list list;
  va_start(list, format);
  printf_reads(format, list, pc);
  before_sending(fd);
  int const result = REAL(__vdprintf_chk)(fd, flag, format, list);
  va_end(list);
  return result;
}

// --- To memory

DECLARE_REAL_OF(int, vsnprintf, char* to, size_t size, const char* format, va_list list);
DECLARE_REAL_OF(int, vsprintf, char* to, const char* format, va_list list);
DECLARE_REAL_OF(int, __vsnprintf_chk, char* to, size_t size, int flag, size_t room, const char* format,
                va_list list);
DECLARE_REAL_OF(int, __vsprintf_chk, char* to, int flag, size_t room, const char* format, va_list list);
namespace {
constexpr size_t kUnbounded = ~size_t{0};

int print_to(char* to, size_t size, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  return printed(to, size, REAL(vsnprintf)(to, size, format, list), pc);
}
int print_to(char* to, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  return printed(to, kUnbounded, REAL(vsprintf)(to, format, list), pc);
}
int print_to_checked(char* to, size_t size, int flag, size_t room, const char* format, va_list list,
                     lane::Pc pc) {
  printf_reads(format, list, pc);
  return printed(to, size, REAL(__vsnprintf_chk)(to, size, flag, room, format, list), pc);
}
int print_to_checked(char* to, int flag, size_t room, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  return printed(to, kUnbounded, REAL(__vsprintf_chk)(to, flag, room, format, list), pc);
}
}  // namespace

INTERPOSE_ONLY(int, vsnprintf, char* to, size_t size, const char* format, va_list list) {
  return print_to(to, size, format, list, CALLER);
}
REPLACE(int, snprintf, char* to, size_t size, const char* format, ...) {
  WITH_LIST(format, print_to(to, size, format, list, CALLER));
}
INTERPOSE_ONLY(int, vsprintf, char* to, const char* format, va_list list) {
  return print_to(to, format, list, CALLER);
}
REPLACE(int, sprintf, char* to, const char* format, ...) {
  WITH_LIST(format, print_to(to, format, list, CALLER));
}
INTERPOSE_ONLY(int, __vsnprintf_chk, char* to, size_t size, int flag, size_t room, const char* format,
               va_list list) {
  return print_to_checked(to, size, flag, room, format, list, CALLER);
}
REPLACE(int, __snprintf_chk, char* to, size_t size, int flag, size_t room, const char* format, ...) {
  WITH_LIST(format, print_to_checked(to, size, flag, room, format, list, CALLER));
}
INTERPOSE_ONLY(int, __vsprintf_chk, char* to, int flag, size_t room, const char* format, va_list list) {
  return print_to_checked(to, flag, room, format, list, CALLER);
}
REPLACE(int, __sprintf_chk, char* to, int flag, size_t room, const char* format, ...) {
  WITH_LIST(format, print_to_checked(to, flag, room, format, list, CALLER));
}

// --- To new memory, which libc allocates through our malloc

DECLARE_REAL_OF(int, vasprintf, char** to, const char* format, va_list list);
DECLARE_REAL_OF(int, __vasprintf_chk, char** to, int flag, const char* format, va_list list);
namespace {
int print_new(char** to, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  int const count = REAL(vasprintf)(to, format, list);
  lane::write(to, sizeof *to, pc);
  if (count >= 0) lane::write(*to, static_cast<size_t>(count) + 1, pc);
  return count;
}
int print_new_checked(char** to, int flag, const char* format, va_list list, lane::Pc pc) {
  printf_reads(format, list, pc);
  int const count = REAL(__vasprintf_chk)(to, flag, format, list);
  lane::write(to, sizeof *to, pc);
  if (count >= 0) lane::write(*to, static_cast<size_t>(count) + 1, pc);
  return count;
}
}  // namespace
INTERPOSE_ONLY(int, vasprintf, char** to, const char* format, va_list list) {
  return print_new(to, format, list, CALLER);
}
REPLACE(int, asprintf, char** to, const char* format, ...) {
  WITH_LIST(format, print_new(to, format, list, CALLER));
}
INTERPOSE_ONLY(int, __vasprintf_chk, char** to, int flag, const char* format, va_list list) {
  return print_new_checked(to, flag, format, list, CALLER);
}
REPLACE(int, __asprintf_chk, char** to, int flag, const char* format, ...) {
  WITH_LIST(format, print_new_checked(to, flag, format, list, CALLER));
}

// --- Reading. Programs compiled as C99 or later call the __isoc99_ forms.

DECLARE_REAL_OF(int, vsscanf, const char* from, const char* format, va_list list);
DECLARE_REAL_OF(int, vfscanf, FILE* stream, const char* format, va_list list);
namespace {
int scan_string(const char* from, const char* format, va_list list, lane::Pc pc) {
  reads_string(from, pc);
  va_list places;
  va_copy(places, list);
  int const count = REAL(vsscanf)(from, format, list);
  scanf_writes(format, places, count, pc);
  va_end(places);
  return count;
}
int scan_stream(FILE* stream, const char* format, va_list list, lane::Pc pc) {
  va_list places;
  va_copy(places, list);
  StreamOperation const operation(stream, Direction::kIn);
  int const count = REAL(vfscanf)(stream, format, list);
  scanf_writes(format, places, count, pc);
  va_end(places);
  return count;
}
}  // namespace
INTERPOSE_ONLY(int, vsscanf, const char* from, const char* format, va_list list) {
  return scan_string(from, format, list, CALLER);
}
REPLACE(int, sscanf, const char* from, const char* format, ...) {
  WITH_LIST(format, scan_string(from, format, list, CALLER));
}
INTERPOSE_ONLY(int, vfscanf, FILE* stream, const char* format, va_list list) {
  return scan_stream(stream, format, list, CALLER);
}
REPLACE(int, fscanf, FILE* stream, const char* format, ...) {
  WITH_LIST(format, scan_stream(stream, format, list, CALLER));
}
REPLACE(int, vscanf, const char* format, va_list list) { return scan_stream(stdin, format, list, CALLER); }
REPLACE(int, scanf, const char* format, ...) { WITH_LIST(format, scan_stream(stdin, format, list, CALLER)); }

DECLARE_REAL_OF(int, __isoc99_vsscanf, const char* from, const char* format, va_list list);
DECLARE_REAL_OF(int, __isoc99_vfscanf, FILE* stream, const char* format, va_list list);
namespace {
int __isoc99_scan_string(const char* from, const char* format, va_list list, lane::Pc pc) {
  reads_string(from, pc);
  va_list places;
  va_copy(places, list);
  int const count = REAL(__isoc99_vsscanf)(from, format, list);
  scanf_writes(format, places, count, pc);
  va_end(places);
  return count;
}
int __isoc99_scan_stream(FILE* stream, const char* format, va_list list, lane::Pc pc) {
  va_list places;
  va_copy(places, list);
  StreamOperation const operation(stream, Direction::kIn);
  int const count = REAL(__isoc99_vfscanf)(stream, format, list);
  scanf_writes(format, places, count, pc);
  va_end(places);
  return count;
}
}  // namespace
INTERPOSE_ONLY(int, __isoc99_vsscanf, const char* from, const char* format, va_list list) {
  return __isoc99_scan_string(from, format, list, CALLER);
}
REPLACE(int, __isoc99_sscanf, const char* from, const char* format, ...) {
  WITH_LIST(format, __isoc99_scan_string(from, format, list, CALLER));
}
INTERPOSE_ONLY(int, __isoc99_vfscanf, FILE* stream, const char* format, va_list list) {
  return __isoc99_scan_stream(stream, format, list, CALLER);
}
REPLACE(int, __isoc99_fscanf, FILE* stream, const char* format, ...) {
  WITH_LIST(format, __isoc99_scan_stream(stream, format, list, CALLER));
}
REPLACE(int, __isoc99_vscanf, const char* format, va_list list) {
  return __isoc99_scan_stream(stdin, format, list, CALLER);
}
REPLACE(int, __isoc99_scanf, const char* format, ...) {
  WITH_LIST(format, __isoc99_scan_stream(stdin, format, list, CALLER));
}
