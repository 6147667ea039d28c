#include "runtime/platform/print.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "base/utf8.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::platform {

Text::~Text() { release(data_, capacity_); }

void Text::append_char(char c) {
  if (size_ == capacity_) {
    size_t const capacity = capacity_ == 0 ? 1024 : capacity_ * 2;
    auto* const data = static_cast<char*>(allocate(capacity));
    if (size_ != 0) copy(data, data_, size_);
    release(data_, capacity_);
    data_ = data;
    capacity_ = capacity;
  }
  data_[size_++] = c;
}

const char* Text::c_str() {
  append_char('\0');
  --size_;
  return data_;
}

void Text::append_number(uint64_t value, unsigned base) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  while (count > 0) append_char(digits[--count]);
}

void Text::append_json_string(const char* text) {
  append_char('"');
  for (; text != nullptr && *text != '\0'; ++text) {
    auto const c = static_cast<unsigned char>(*text);
    if (c >= 0x80) {
      unsigned const length = utf8_length(text, 4);
      if (length == 0) {
        append("\\ufffd");
        continue;
      }
      for (unsigned i = 0; i < length; ++i) append_char(text[i]);
      text += length - 1;
      continue;
    }
    if (c == '"' || c == '\\') {
      append_char('\\');
      append_char(*text);
    } else if (c < 0x20) {
      append("\\u00%x%x", c >> 4, c & 15);
    } else {
      append_char(*text);
    }
  }
  append_char('"');
}

void Text::append_list(const char* format, va_list arguments) {
  for (const char* p = format; *p != '\0'; ++p) {
    if (*p != '%') {
      append_char(*p);
      continue;
    }
    ++p;
    int longs = 0;
    while (*p == 'l' || *p == 'z') {
      ++longs;
      ++p;
    }
    switch (*p) {
      case 's': {
        const char* text = va_arg(arguments, const char*);
        for (text = text != nullptr ? text : "(null)"; *text != '\0'; ++text) append_char(*text);
        break;
      }
      case 'd': {
        int64_t const value = longs > 0 ? va_arg(arguments, int64_t) : va_arg(arguments, int);
        if (value < 0) append_char('-');
        append_number(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value), 10);
        break;
      }
      case 'u':
      case 'x': {
        uint64_t const value = longs > 0 ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned);
        append_number(value, *p == 'x' ? 16 : 10);
        break;
      }
      case 'p':
        append_char('0');
        append_char('x');
        append_number(reinterpret_cast<uint64_t>(va_arg(arguments, void*)), 16);
        break;
      case 'c':
        append_char(static_cast<char>(va_arg(arguments, int)));
        break;
      default:
        append_char(*p);
    }
  }
}

void Text::append(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  append_list(format, arguments);
  va_end(arguments);
}

namespace {

// Our writes must never raise SIGPIPE in the program: the reader of our findings, or of standard error, may
// be gone.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    syscall6(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&kPipe), reinterpret_cast<long>(&mask_),
             sizeof mask_);
    uint64_t pending = 0;
    syscall6(SYS_rt_sigpending, reinterpret_cast<long>(&pending), sizeof pending);
    was_pending_ = (pending & kPipe) != 0;
  }
  ~WithoutSigpipe() {
    if (broken && !was_pending_) {
      timespec const none{};
      syscall6(SYS_rt_sigtimedwait, reinterpret_cast<long>(&kPipe), 0, reinterpret_cast<long>(&none),
               sizeof kPipe);
    }
    syscall6(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask_), 0, sizeof mask_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

  bool broken = false;

 private:
  static constexpr uint64_t kPipe = uint64_t{1} << (SIGPIPE - 1);
  uint64_t mask_ = 0;
  bool was_pending_ = false;
};

}  // namespace

bool Text::write_to(int fd) const {
  WithoutSigpipe guard;
  size_t done = 0;
  while (done < size_) {
    long const written = sys_write(fd, data_ + done, size_ - done);
    if (written == -EINTR) continue;
    if (written == -EAGAIN) {
      sys_yield();  // a descriptor the program made non-blocking (standard error, mostly)
      continue;
    }
    guard.broken = written == -EPIPE;
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

namespace {

struct FileId {
  dev_t device;
  ino_t inode;
  bool open;

  friend bool operator==(const FileId&, const FileId&) = default;
};

FileId file_at(int fd) {
  struct stat status{};
  bool const open = !failed(syscall6(SYS_fstat, fd, reinterpret_cast<long>(&status)));
  return open ? FileId{status.st_dev, status.st_ino, true} : FileId{0, 0, false};
}

FileId standard_error_at_start;
bool standard_error_remembered;

void message(const char* format, va_list arguments) {
  if (!standard_error_intact()) return;
  Text text;
  text.append("deadheat: ");
  text.append_list(format, arguments);
  text.append_char('\n');
  text.write_to(2);
}
}  // namespace

void remember_standard_error() {
  standard_error_at_start = file_at(2);
  standard_error_remembered = true;
}

bool standard_error_intact() {
  if (!standard_error_remembered) return true;
  return standard_error_at_start.open && file_at(2) == standard_error_at_start;
}

void warn(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  message(format, arguments);
  va_end(arguments);
}

void die(int code, const char* format, ...) {
  // No memory may be left to format with: die then says only the first, unformatted, line.
  static bool dying = false;
  if (__atomic_exchange_n(&dying, true, __ATOMIC_RELAXED)) {
    static const char text[] = "deadheat: out of memory\n";
    sys_write(2, text, sizeof text - 1);
  } else {
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments);
    va_end(arguments);
  }
  syscall6(SYS_exit_group, code);
  __builtin_unreachable();
}

}  // namespace deadheat::platform
