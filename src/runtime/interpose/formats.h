// What printf and scanf touch besides their own: strings given to %s, numbers stored by %n, the places scanf
// fills.
#pragma once

#include <stdarg.h>

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// Before the real call. `list` is left as it was.
void printf_reads(const char* format, va_list list, lane::Pc pc);
void printf_reads(const wchar_t* format, va_list list, lane::Pc pc);

// After the real call, which assigned `count` places (negative: none).
void scanf_writes(const char* format, va_list list, int count, lane::Pc pc);
void scanf_writes(const wchar_t* format, va_list list, int count, lane::Pc pc);

// After sprintf and its kin: the destination, up to and with its terminator. `room`: how many characters
// there is place for.
template <class Char>
int printed(Char* to, size_t room, int count, lane::Pc pc) {
  if (count < 0 || room == 0) return count;
  size_t const wanted = static_cast<size_t>(count) + 1;
  lane::write(to, (wanted < room ? wanted : room) * sizeof(Char), pc);
  return count;
}

}  // namespace deadheat::interpose

// The body of a variadic form: `body` sees `list`; its value is the result.
#define WITH_LIST(last, body) \
  va_list list;               \
  va_start(list, last);       \
  int const result = body;    \
  va_end(list);               \
  return result
