// Misaligned accesses of <sanitizer/common_interface_defs.h>, for calls that were not made instructions in
// the program. Compiled as a program is, see atomics.c.
#include <stdint.h>

#define INTERFACE __attribute__((weak, visibility("hidden")))

#define UNALIGNED(N)                                                           \
  struct Unaligned##N {                                                        \
    uint##N##_t value;                                                         \
  } __attribute__((packed, may_alias));                                        \
  INTERFACE uint##N##_t __sanitizer_unaligned_load##N(const void* at) {        \
    return ((const struct Unaligned##N*)at)->value;                            \
  }                                                                            \
  INTERFACE void __sanitizer_unaligned_store##N(void* at, uint##N##_t value) { \
    ((struct Unaligned##N*)at)->value = value;                                 \
  }

UNALIGNED(16)
UNALIGNED(32)
UNALIGNED(64)
