// Strings that end with a zero byte, without libc: its functions' names are interposed, or the program's.
#pragma once

#include <stddef.h>

namespace deadheat::platform {

inline size_t length_of(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

inline bool is_same(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

}  // namespace deadheat::platform
