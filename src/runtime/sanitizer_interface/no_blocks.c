// Questions about one block of the heap, for lanes that keep no list of blocks: nothing is known of any. (The
// watch lane does: watch/heap_interface.cc.)
#include <stddef.h>

#define INTERFACE __attribute__((weak, visibility("hidden")))

INTERFACE int __sanitizer_get_ownership(const volatile void* address) {
  (void)address;
  return 0;
}
INTERFACE const void* __sanitizer_get_allocated_begin(const void* address) {
  (void)address;
  return NULL;
}
INTERFACE size_t __sanitizer_get_allocated_size(const volatile void* address) {
  (void)address;
  return 0;
}
INTERFACE size_t __sanitizer_get_allocated_size_fast(const volatile void* address) {
  (void)address;
  return 0;
}
