#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace deadheat {
namespace {

// As the standard draws it, `length` bytes for any code that fits: also the long ways to write a short one.
std::string encoded(uint32_t code, unsigned length) {
  static constexpr unsigned kLead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
  std::string text(length, '\0');
  for (unsigned i = length; i-- > 1; code >>= 6) text[i] = static_cast<char>(0x80 | (code & 0x3f));
  text[0] = static_cast<char>(kLead[length] | code);
  return text;
}
unsigned length_of(const std::string& text) { return utf8_length(text.data(), text.size()); }

TEST(Utf8, EveryCharacterHasOneLength) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    unsigned const right = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    bool const is_surrogate = code >= 0xd800 && code < 0xe000;
    for (unsigned length = right; length <= 4; ++length) {
      std::string const text = encoded(code, length);
      ASSERT_EQ(length_of(text), length == right && !is_surrogate ? length : 0) << std::hex << code;
    }
  }
}

TEST(Utf8, BeyondTheLastCharacterIsNothing) {
  for (uint32_t code = 0x110000; code < 0x200000; ++code) ASSERT_EQ(length_of(encoded(code, 4)), 0u);
  for (unsigned lead = 0xf8; lead < 0x100; ++lead) {
    ASSERT_EQ(length_of(std::string(1, static_cast<char>(lead)) + "\x80\x80\x80"), 0u);
  }
}

TEST(Utf8, WhatEndsTooEarlyIsNothing) {
  EXPECT_EQ(length_of(""), 0u);
  for (uint32_t code : {0xe9u, 0x20acu, 0x1f600u}) {
    std::string const whole = encoded(code, code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
    for (size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(length_of(whole.substr(0, size)), 0u);
      EXPECT_EQ(utf8_length(whole.substr(0, size).c_str(), 4), 0u);  // ends with a zero byte
      EXPECT_EQ(length_of(whole.substr(0, size) + "a"), 0u);
    }
    EXPECT_EQ(length_of(whole + "\x80"), whole.size());
    EXPECT_EQ(length_of(whole.substr(1)), 0u);
  }
}

}  // namespace
}  // namespace deadheat
