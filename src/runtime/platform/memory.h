// The runtime's own memory: taken from the kernel directly, never from the program's allocator.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::platform {

// Zeroed pages, not reserved; ends the process with one clear line if the kernel has none to give (`what`
// says for what).
void* map_pages(size_t size, const char* what);
void* try_map_pages(size_t size);
// One huge page, where the kernel has one to give; for tables that are looked up all over.
inline constexpr size_t kHugePage = size_t{2} << 20;
void* map_huge_page(const char* what);

// Small objects for the life of the process or until released. Memory is type-stable: a released block is
// only ever reused for blocks of the same size class, so that a stale reader sees an object, never a torn
// one. Returned memory is zeroed.
void* allocate(size_t size);
void release(void* block, size_t size);

template <class T>
T* make() {
  return static_cast<T*>(allocate(sizeof(T)));
}
template <class T>
void destroy(T* object) {
  release(object, sizeof(T));
}

uint64_t mapped_bytes();
// Around fork(2).
void memory_fork_preparing();
void memory_fork_done();

inline void zero(void* at, size_t size) {
  // Not memset: that name may be the program's, by way of our own interposer.
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(0) : "memory");
}
inline void copy(void* to, const void* from, size_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

}  // namespace deadheat::platform
