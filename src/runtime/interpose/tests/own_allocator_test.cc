// A program with its own malloc and operator new keeps them; what depends on them follows.
#include <stdint.h>

#include <new>

#include "runtime/interpose/tests/fake_lane.h"

static char arena[1 << 20];
static size_t used;
static int mallocs;

static void* take(size_t size, size_t alignment) {
  used = (used + alignment - 1) / alignment * alignment;
  void* const block = arena + used;
  used += size;
  return used <= sizeof arena ? block : nullptr;
}
static bool in_arena(const void* p) { return p >= arena && p < arena + sizeof arena; }

extern "C" {
void* malloc(size_t size) {
  ++mallocs;
  return take(size, 16);
}
void free(void*) {}
void* calloc(size_t count, size_t size) { return take(count * size, 16); }
void* realloc(void* old, size_t size) {
  void* const block = take(size, 16);
  if (old != nullptr) memcpy(block, old, size);
  return block;
}
void* memalign(size_t alignment, size_t size) { return take(size, alignment); }
void* aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
int posix_memalign(void** to, size_t alignment, size_t size) {
  *to = take(size, alignment);
  return 0;
}
}

int main() {
  CHECK(in_arena(malloc(3)));
  int before = mallocs;
  char* volatile p = new char[5];  // through the program's malloc, whether operator new is ours or not
  CHECK(in_arena(p) && mallocs == before + 1);
  delete[] p;
  before = mallocs;
  CHECK(in_arena(strdup("hello")) && mallocs == before + 1);
  return 0;
}
