// Lines of the cache.
#pragma once

#include <stddef.h>

namespace deadheat::platform {

inline constexpr size_t kLine = 64;

// As many bytes in whole lines.
constexpr size_t in_lines(size_t size) { return (size + kLine - 1) / kLine * kLine; }

// Asks for the line at `address`, to be written. It may be any address: nothing is read. A processor that
// does not know the instruction does nothing.
__attribute__((always_inline)) inline void want_line(const void* address) {
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
}

// The same, to be read: who else has it keeps it.
__attribute__((always_inline)) inline void want_to_read_line(const void* address) {
  __builtin_prefetch(address, 0, 3);
}

}  // namespace deadheat::platform
