// Reading numbers from strings: the characters up to the one that ended the number, and where that was.
#include <inttypes.h>
#include <stdlib.h>
#include <wchar.h>

#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

// One shape for all: the real function always tells where it stopped; whether the program wanted to know is
// another matter.
#define READS_NUMBER(result, name, Char, parameters, arguments)                     \
  INTERPOSE(result, name, const Char* s, Char** end PARAMETERS parameters) {        \
    Char* stop = nullptr;                                                           \
    result const value = REAL(name)(s, &stop ARGUMENTS arguments);                  \
    if (stop != nullptr) reads_chars(s, static_cast<size_t>(stop - s) + 1, CALLER); \
    if (end != nullptr) {                                                           \
      lane::write(end, sizeof *end, CALLER);                                        \
      *end = stop;                                                                  \
    }                                                                               \
    return value;                                                                   \
  }
#define PARAMETERS(...) __VA_OPT__(, ) __VA_ARGS__
#define ARGUMENTS(...) __VA_OPT__(, ) __VA_ARGS__

READS_NUMBER(long, strtol, char, (int base), (base))
READS_NUMBER(unsigned long, strtoul, char, (int base), (base))
READS_NUMBER(long long, strtoll, char, (int base), (base))
READS_NUMBER(unsigned long long, strtoull, char, (int base), (base))
READS_NUMBER(intmax_t, strtoimax, char, (int base), (base))
READS_NUMBER(uintmax_t, strtoumax, char, (int base), (base))
READS_NUMBER(long long, strtoq, char, (int base), (base))
READS_NUMBER(unsigned long long, strtouq, char, (int base), (base))
READS_NUMBER(float, strtof, char, (), ())
READS_NUMBER(double, strtod, char, (), ())
READS_NUMBER(long double, strtold, char, (), ())
READS_NUMBER(long, wcstol, wchar_t, (int base), (base))
READS_NUMBER(unsigned long, wcstoul, wchar_t, (int base), (base))
READS_NUMBER(long long, wcstoll, wchar_t, (int base), (base))
READS_NUMBER(unsigned long long, wcstoull, wchar_t, (int base), (base))
READS_NUMBER(intmax_t, wcstoimax, wchar_t, (int base), (base))
READS_NUMBER(uintmax_t, wcstoumax, wchar_t, (int base), (base))
READS_NUMBER(float, wcstof, wchar_t, (), ())
READS_NUMBER(double, wcstod, wchar_t, (), ())
READS_NUMBER(long double, wcstold, wchar_t, (), ())

REPLACE(int, atoi, const char* s) {
  char* stop = nullptr;
  long const value = REAL(strtol)(s, &stop, 10);
  reads_chars(s, static_cast<size_t>(stop - s) + 1, CALLER);
  return static_cast<int>(value);
}
REPLACE(long, atol, const char* s) {
  char* stop = nullptr;
  long const value = REAL(strtol)(s, &stop, 10);
  reads_chars(s, static_cast<size_t>(stop - s) + 1, CALLER);
  return value;
}
REPLACE(long long, atoll, const char* s) {
  char* stop = nullptr;
  long long const value = REAL(strtoll)(s, &stop, 10);
  reads_chars(s, static_cast<size_t>(stop - s) + 1, CALLER);
  return value;
}
REPLACE(double, atof, const char* s) {
  char* stop = nullptr;
  double const value = REAL(strtod)(s, &stop);
  reads_chars(s, static_cast<size_t>(stop - s) + 1, CALLER);
  return value;
}
