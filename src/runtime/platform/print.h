// Formatting without libc's locks or allocator, for messages and for the raw findings.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

namespace deadheat::platform {

// A text that grows in the runtime's own memory.
class Text {
 public:
  Text() = default;
  ~Text();
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  // %s %d %u %x %c %%, with z, l and ll; %p prints 0x...; %j prints a string with JSON's escapes.
  void append(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void append_list(const char* format, va_list arguments);
  void append_json_string(const char* text);
  void append_char(char c);
  void clear() { size_ = 0; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  const char* c_str();
  // Writes everything to `fd`; false if that failed. Retries short writes and EINTR.
  bool write_to(int fd) const;

 private:
  void append_number(uint64_t value, unsigned base);
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Descriptor 2 is standard error only as long as it is the file it was at the start: a program may close it
// and open something of its own there, which is not ours to write to.
void remember_standard_error();
bool standard_error_intact();

// "deadheat: ..." on standard error.
void warn(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void die(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace deadheat::platform

#define DEADHEAT_RT_CHECK(condition)                                                                \
  ((condition) ? static_cast<void>(0)                                                               \
               : ::deadheat::platform::die(70, "internal fault: %s:%d: check failed: %s", __FILE__, \
                                           __LINE__, #condition))
