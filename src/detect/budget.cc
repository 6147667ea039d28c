#include "detect/budget.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

namespace deadheat::detect {

std::uint64_t Budget::memory_in_use() {
  static const int descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  static const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  char text[128];
  const ssize_t size = descriptor < 0 ? -1 : ::pread(descriptor, text, sizeof(text), 0);
  if (size <= 0) return 0;
  // All pages, then the resident ones.
  const char* end = text + size;
  const char* second = static_cast<const char*>(std::memchr(text, ' ', static_cast<std::size_t>(size)));
  std::uint64_t pages = 0;
  if (second == nullptr || std::from_chars(second + 1, end, pages).ec != std::errc()) return 0;
  return pages * page;
}

}  // namespace deadheat::detect
