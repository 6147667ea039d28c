#include "runtime/platform/memory.h"

#include "runtime/platform/print.h"
#include "runtime/platform/spinlock.h"

namespace deadheat::platform {
namespace {

// Size classes: multiples of 16 up to 512, then powers of two. Larger blocks get pages of their own.
constexpr size_t kSmallStep = 16;
constexpr size_t kSmallLimit = 512;
constexpr size_t kLargestClass = size_t{1} << 20;
constexpr size_t kSlab = size_t{256} << 10;

struct FreeBlock {
  FreeBlock* next;
};

struct SizeClass {
  Spinlock lock;
  FreeBlock* free = nullptr;
  char* slab = nullptr;
  size_t slab_left = 0;
};

SizeClass classes[kSmallLimit / kSmallStep + 12];
uint64_t total_mapped;

struct ClassOf {
  size_t index;
  size_t size;
};

ClassOf class_of(size_t size) {
  if (size <= kSmallLimit) {
    size_t const steps = size == 0 ? 1 : (size + kSmallStep - 1) / kSmallStep;
    return {steps - 1, steps * kSmallStep};
  }
  size_t index = kSmallLimit / kSmallStep;
  size_t rounded = kSmallLimit * 2;
  while (rounded < size) {
    rounded *= 2;
    ++index;
  }
  return {index, rounded};
}

// Where the kernel is asked to put the runtime's memory: away from where it puts the program's. If it went
// into the gaps that the program's own unmapping leaves, the program's next mapping would be elsewhere, with
// shadow memory of its own, and so on. Only a wish: wherever the kernel puts it instead is right, too.
constexpr uintptr_t kWish = uintptr_t{0x3a} << 40;
constexpr uintptr_t kLastWish = uintptr_t{0x50} << 40;
uintptr_t next_wish = kWish;

uintptr_t wish_for(size_t size) {
  uintptr_t const wish = __atomic_fetch_add(&next_wish, (size + 4095) & ~uintptr_t{4095}, __ATOMIC_RELAXED);
  return wish < kLastWish ? wish : 0;
}

}  // namespace

void* try_map_pages(size_t size) {
  long const at = syscall6(SYS_mmap, static_cast<long>(wish_for(size)), static_cast<long>(size),
                           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (failed(at)) return nullptr;
  __atomic_fetch_add(&total_mapped, size, __ATOMIC_RELAXED);
  return reinterpret_cast<void*>(at);
}

void* map_pages(size_t size, const char* what) {
  void* const at = try_map_pages(size);
  if (at == nullptr) {
    die(70, "out of memory: %s needs %zu more bytes (a memory limit such as `ulimit -v` may be too low)",
        what, size);
  }
  return at;
}

void* map_huge_page(const char* what) {
  // Twice the size has an aligned one in it; the rest goes back.
  void* const twice = try_map_pages(2 * kHugePage);
  if (twice == nullptr) return map_pages(kHugePage, what);
  auto const begin = reinterpret_cast<uintptr_t>(twice);
  uintptr_t const aligned = (begin + kHugePage - 1) & ~(kHugePage - 1);
  uintptr_t const end = begin + 2 * kHugePage;
  if (aligned != begin) sys_munmap(twice, aligned - begin);
  if (aligned + kHugePage != end)
    sys_munmap(reinterpret_cast<void*>(aligned + kHugePage), end - aligned - kHugePage);
  __atomic_fetch_sub(&total_mapped, kHugePage, __ATOMIC_RELAXED);
  auto* const page = reinterpret_cast<void*>(aligned);
  sys_madvise(page, kHugePage, MADV_HUGEPAGE);
  return page;
}

void* allocate(size_t size) {
  if (size > kLargestClass) return map_pages((size + 4095) & ~size_t{4095}, "the runtime");
  ClassOf const c = class_of(size);
  SizeClass& klass = classes[c.index];
  SpinGuard const guard(klass.lock);
  if (FreeBlock* const block = klass.free) {
    klass.free = block->next;
    zero(block, c.size);
    return block;
  }
  if (klass.slab_left < c.size) {
    size_t const slab = c.size > kSlab / 4 ? c.size : kSlab;
    klass.slab = static_cast<char*>(map_pages(slab, "the runtime"));
    klass.slab_left = slab;
  }
  void* const block = klass.slab;
  klass.slab += c.size;
  klass.slab_left -= c.size;
  return block;
}

void release(void* block, size_t size) {
  if (block == nullptr) return;
  if (size > kLargestClass) {
    sys_munmap(block, (size + 4095) & ~size_t{4095});
    __atomic_fetch_sub(&total_mapped, size, __ATOMIC_RELAXED);
    return;
  }
  SizeClass& klass = classes[class_of(size).index];
  SpinGuard const guard(klass.lock);
  auto* const freed = static_cast<FreeBlock*>(block);
  freed->next = klass.free;
  klass.free = freed;
}

uint64_t mapped_bytes() { return __atomic_load_n(&total_mapped, __ATOMIC_RELAXED); }

void memory_fork_preparing() {
  for (SizeClass& klass : classes) klass.lock.lock();
}
void memory_fork_done() {
  for (SizeClass& klass : classes) klass.lock.unlock();
}

}  // namespace deadheat::platform
