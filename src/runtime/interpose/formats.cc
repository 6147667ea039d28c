// Formats are read as libc reads them, as far as it takes to know which arguments are addresses. A format
// with numbered arguments (%2$s) is not followed: its strings go unseen, which hides, but invents nothing.
#include "runtime/interpose/formats.h"

#include <stdint.h>
#include <wchar.h>

#include "runtime/interpose/strings.h"

namespace deadheat::interpose {

namespace {

enum class Size : uint8_t { kByte, kShort, kInt, kLong, kLongDouble };

size_t bytes(Size size) {
  switch (size) {
    case Size::kByte:
      return 1;
    case Size::kShort:
      return 2;
    case Size::kInt:
      return 4;
    case Size::kLong:
    case Size::kLongDouble:
      return 8;
  }
  return 4;
}

template <class Char>
bool is_digit(Char c) {
  return c >= '0' && c <= '9';
}
template <class Char>
size_t number(const Char*& at) {
  size_t value = 0;
  while (is_digit(*at)) value = value * 10 + static_cast<size_t>(*at++ - '0');
  return value;
}

// hh, h, l, ll, q, L, j, z, Z, t
template <class Char>
Size length_modifier(const Char*& at) {
  switch (*at) {
    case 'h':
      ++at;
      if (*at != 'h') return Size::kShort;
      ++at;
      return Size::kByte;
    case 'l':
      ++at;
      if (*at == 'l') ++at;
      return Size::kLong;
    case 'L':
      ++at;
      return Size::kLongDouble;
    case 'q':
    case 'j':
    case 'z':
    case 'Z':
    case 't':
      ++at;
      return Size::kLong;
    default:
      return Size::kInt;
  }
}

constexpr size_t kNoPrecision = ~size_t{0};

template <class Char>
void printf_arguments(const Char* at, va_list list, lane::Pc pc) {
  reads_string(at, pc);
  for (; *at != 0; ++at) {
    if (*at != '%') continue;
    ++at;
    const Char* const start = at;
    if (is_digit(*at) && *at != '0') {
      number(at);
      if (*at == '$') return;
      at = start;
    }
    while (*at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '0' || *at == '\'' || *at == 'I')
      ++at;
    if (*at == '*') {
      ++at;
      if (is_digit(*at)) return;
      va_arg(list, int);
    } else {
      number(at);
    }
    size_t precision = kNoPrecision;
    if (*at == '.') {
      ++at;
      if (*at == '*') {
        ++at;
        if (is_digit(*at)) return;
        int const given = va_arg(list, int);
        if (given >= 0) precision = static_cast<size_t>(given);
      } else {
        precision = number(at);
      }
    }
    Size const size = length_modifier(at);
    switch (*at) {
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X':
      case 'c':
      case 'C':
      case 'p':
        va_arg(list, long);  // all of them take one general register or eight bytes of the stack
        break;
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (size == Size::kLongDouble) {  // NOLINT(bugprone-branch-clone): two types
          va_arg(list, long double);
        } else {
          va_arg(list, double);
        }
        break;
      case 's':
      case 'S': {
        bool const wide = *at == 'S' || size == Size::kLong;
        if (wide) {
          const wchar_t* const s = va_arg(list, const wchar_t*);
          if (s != nullptr) {
            size_t const n = length(s, precision);
            reads_chars(s, n < precision ? n + 1 : n, pc);
          }
        } else {
          const char* const s = va_arg(list, const char*);
          if (s != nullptr) {
            size_t const n = length(s, precision);
            reads_chars(s, n < precision ? n + 1 : n, pc);
          }
        }
        break;
      }
      case 'n':
        if (void* const to = va_arg(list, void*)) lane::write(to, bytes(size), pc);
        break;
      case 'm':
      case '%':
        break;
      default:
        return;  // a conversion that somebody registered, or the end in the middle of one
    }
  }
}

}  // namespace

void printf_reads(const char* format, va_list list, lane::Pc pc) {
  va_list copy;
  va_copy(copy, list);
  printf_arguments(format, copy, pc);
  va_end(copy);
}
void printf_reads(const wchar_t* format, va_list list, lane::Pc pc) {
  va_list copy;
  va_copy(copy, list);
  printf_arguments(format, copy, pc);
  va_end(copy);
}

namespace {

template <class Char>
void scanf_places(const Char* format, va_list list, int count, lane::Pc pc) {
  reads_string(format, pc);
  int assigned = 0;
  for (const Char* at = format; *at != 0 && assigned <= count; ++at) {
    if (*at != '%') continue;
    ++at;
    if (*at == '%') continue;
    const Char* const start = at;
    if (is_digit(*at)) {
      number(at);
      if (*at == '$') break;
      at = start;
    }
    bool skipped = false;
    bool allocates = false;
    size_t width = 0;
    for (bool more = true; more;) {
      switch (*at) {
        case '*':
          skipped = true;
          ++at;
          break;
        case '\'':
        case 'I':
          ++at;
          break;
        case 'm':
          allocates = true;
          ++at;
          break;
        default:
          if (is_digit(*at)) {
            width = number(at);
          } else {
            more = false;
          }
      }
    }
    Size const size = length_modifier(at);
    Char const conversion = *at;
    if (conversion == 0) break;
    if (conversion == '[') {
      ++at;
      if (*at == '^') ++at;
      if (*at == ']') ++at;
      while (*at != 0 && *at != ']') ++at;
      if (*at == 0) break;
    }
    if (skipped) continue;
    void* to = va_arg(list, void*);
    if (conversion == 'n') {
      if (assigned <= count && to != nullptr) lane::write(to, bytes(size), pc);
      continue;
    }
    if (++assigned > count) break;
    if (to == nullptr) continue;
    bool const wide = size == Size::kLong || conversion == 'S' || conversion == 'C';
    if (allocates) {
      lane::write(to, sizeof(void*), pc);
      to = *static_cast<void**>(to);
    }
    switch (conversion) {
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        lane::write(to, bytes(size), pc);
        break;
      case 'p':
        lane::write(to, sizeof(void*), pc);
        break;
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        lane::write(to, size == Size::kLongDouble ? sizeof(long double) : size == Size::kLong ? 8 : 4, pc);
        break;
      case 'c':
      case 'C':
        lane::write(to, (width != 0 ? width : 1) * (wide ? sizeof(wchar_t) : 1), pc);
        break;
      case 's':
      case 'S':
      case '[':
        if (wide) {
          lane::write(to, (length(static_cast<wchar_t*>(to)) + 1) * sizeof(wchar_t), pc);
        } else {
          lane::write(to, length(static_cast<char*>(to)) + 1, pc);
        }
        break;
      default:
        break;
    }
  }
}

}  // namespace

void scanf_writes(const char* format, va_list list, int count, lane::Pc pc) {
  va_list copy;
  va_copy(copy, list);
  scanf_places(format, copy, count, pc);
  va_end(copy);
}
void scanf_writes(const wchar_t* format, va_list list, int count, lane::Pc pc) {
  va_list copy;
  va_copy(copy, list);
  scanf_places(format, copy, count, pc);
  va_end(copy);
}

}  // namespace deadheat::interpose
