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

}  // namespace deadheat::interpose
