// Where characters end in text that need not be UTF-8: names of files, arguments, lines of source.
//
// Freestanding, because the runtime writes names into its log.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat {

// The length of the UTF-8 character that `text` begins with; 0 if it begins with none. Text that ends with a
// zero byte may be said to be longer than it is.
constexpr unsigned utf8_length(const char* text, size_t size) {
  if (size == 0) return 0;
  auto const byte = [text](unsigned i) { return static_cast<unsigned char>(text[i]); };
  unsigned const length = byte(0) < 0x80       ? 1
                          : byte(0) >> 5 == 6  ? 2
                          : byte(0) >> 4 == 14 ? 3
                          : byte(0) >> 3 == 30 ? 4
                                               : 0;
  if (length < 2 || length > size) return length < 2 ? length : 0;
  uint32_t code = byte(0) & (0x7fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0x80, 0x800, 0x10000};  // of this length: there is one way to write each
  bool const is_surrogate = code >> 11 == 0xd800 >> 11;
  return code >= kLeast[length - 2] && code < 0x110000 && !is_surrogate ? length : 0;
}

}  // namespace deadheat
