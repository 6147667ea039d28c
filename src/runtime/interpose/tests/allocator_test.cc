// Allocation: sizes, callers, realloc as the three things it is, failures, operator new.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include <new>

#include "runtime/interpose/tests/fake_lane.h"

static size_t volatile huge = SIZE_MAX / 2;

static void c_allocator() {
  void* p = nullptr;
  EXPECT(p = malloc(24), "allocated 24");
  record_name(p, 24, "p");
  EXPECT(free(p), "freeing p");
  EXPECT(free(nullptr), "");
  record_forget_names();

  // calloc does not take what malloc's cache has, so ask twice, and the same block comes again: zeroing is a
  // write.
  p = calloc(3, 500);
  record_name(p, 24, "p");
  free(p);
  EXPECT(p = calloc(3, 500), "allocated 1500; write p 1500");
  free(p);
  record_forget_names();
  p = malloc(70000);  // more than any block that was freed before: the top one
  record_name(p, 24, "p");
  // realloc: the old block ends, the new one appears, what was copied is written.
  void* q = nullptr;
  EXPECT(q = realloc(p, 8), "freeing p; allocated 8; write p 8");
  CHECK(q == p);
  EXPECT(CHECK(realloc(q, huge) == nullptr && errno == ENOMEM), "freeing p; allocated 24");
  EXPECT(CHECK(reallocarray(q, huge, 3) == nullptr && errno == ENOMEM), "");
  EXPECT(q = realloc(q, 100000), "freeing p; allocated 100000; write p 24");  // the top block, grown in place
  record_forget_names();
  EXPECT(q = realloc(q, 0), "freeing");
  CHECK(q == nullptr);
  EXPECT(q = realloc(nullptr, 5), "allocated 5");
  free(q);

  EXPECT(CHECK(malloc(huge) == nullptr && errno == ENOMEM), "");
  EXPECT(CHECK(calloc(huge, 4) == nullptr && errno == ENOMEM), "");
  EXPECT(p = calloc(1, 4 << 20), "allocated 4194304");  // zero pages of the kernel's: nobody writes
  EXPECT(free(p), "freeing");

  record_name(&p, sizeof p, "result");
  EXPECT(CHECK(posix_memalign(&p, 64, 10) == 0), "allocated 10; write result 8");
  CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
  free(p);
  EXPECT(CHECK(posix_memalign(&p, 3, 10) == EINVAL), "");
  EXPECT(CHECK(posix_memalign(&p, 64, huge) == ENOMEM), "");
  EXPECT(p = aligned_alloc(128, 256), "allocated 256");
  free(p);
  EXPECT(p = memalign(32, 7), "allocated 7");
  free(p);
#ifndef TEST_IS_STATIC
  EXPECT(p = valloc(7), "allocated 7");
  free(p);
  EXPECT(p = pvalloc(7), "allocated 7");
  free(p);
#endif
#ifndef TEST_IS_STATIC
  p = malloc(9);
  EXPECT(CHECK(malloc_usable_size(p) == 24), "usable 24");
  free(p);
#endif
  EXPECT(CHECK(malloc_usable_size(nullptr) == 0), "");
  record_forget_names();
}

struct alignas(64) Aligned {
  char bytes[64];
};

static void cxx_allocator() {
  char* volatile p = nullptr;
  EXPECT(p = static_cast<char*>(operator new(12)), "allocated 12");
  EXPECT(operator delete(p), "freeing");
  EXPECT(p = new char[13], "allocated 13");
  EXPECT(delete[] p, "freeing");
  EXPECT(p = new (std::nothrow) char[14], "allocated 14");
  EXPECT(operator delete[](p, std::nothrow), "freeing");
  Aligned* volatile a = nullptr;
  EXPECT(a = new Aligned, "allocated 64");
  CHECK(reinterpret_cast<uintptr_t>(a) % 64 == 0);
  EXPECT(delete a, "freeing");
  EXPECT(a = new Aligned[2], "allocated 128");
  EXPECT(delete[] a, "freeing");
  bool caught = false;
  try {
    p = static_cast<char*>(operator new(huge));
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  CHECK(caught);
  CHECK(operator new(huge, std::nothrow) == nullptr);
  static int asked;
  std::set_new_handler([] {
    if (++asked == 2) std::set_new_handler(nullptr);
  });
  CHECK(operator new(huge, std::nothrow) == nullptr&& asked == 2);
}

int main() {
  record_allocations = 1;
  c_allocator();
  cxx_allocator();
  return 0;
}
