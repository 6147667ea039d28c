// The C allocator. The real one is glibc's own, under the names (__libc_malloc, ...) that work from the first
// instruction of a process, before any symbol could be looked up. All of ours are weak: a program with its
// own malloc keeps it.
//
// A block's life for the lane: `allocated` when it appears; `freeing` before it goes, which counts as an
// access of every byte, so a use that is not ordered before the free is a race. realloc is all three things
// it may be: the end of the old block, a new one, and a write of what was copied.
//
// calloc's zeroing is a write by the caller, except for blocks that come from the kernel as zero pages (large
// ones): nobody writes those, and telling the lane so would only fill its memory.
//
// libc has tables of its own (of locales, conversions, users), which one thread makes and another frees under
// locks inside that nobody sees. What libc itself has zeroed or moved is therefore not told as anybody's
// access. Its blocks are as any others: many are handed to the program (getline, asprintf, getaddrinfo),
// whose accesses and whose frees are checked against each other, and the interposers of such calls tell what
// was filled. In a static program libc's code is not told from the program's.
//
// In the static build the real ones are what --wrap calls __real_: a program's own malloc, or glibc's. Only
// malloc is referred to strongly there: a program that brings its own set must not get glibc's as well.
#include "runtime/interpose/allocator.h"

#include "runtime/platform/unwind.h"

using namespace deadheat;
using namespace deadheat::interpose;

#ifdef DEADHEAT_INTERPOSE_STATIC
#define REAL_NAME(name) "__real_" name
#define WEAK_IF_STATIC __attribute__((weak))
#else
#define REAL_NAME(name) "__libc_" name
#define WEAK_IF_STATIC
#endif

extern "C" {
void* libc_malloc(size_t size) __asm__(REAL_NAME("malloc"));
WEAK_IF_STATIC void* libc_calloc(size_t count, size_t size) __asm__(REAL_NAME("calloc"));
WEAK_IF_STATIC void* libc_realloc(void* block, size_t size) __asm__(REAL_NAME("realloc"));
WEAK_IF_STATIC void libc_free(void* block) __asm__(REAL_NAME("free"));
WEAK_IF_STATIC void* libc_memalign(size_t alignment, size_t size) __asm__(REAL_NAME("memalign"));
#ifndef DEADHEAT_INTERPOSE_STATIC
void* libc_valloc(size_t size) __asm__(REAL_NAME("valloc"));
void* libc_pvalloc(size_t size) __asm__(REAL_NAME("pvalloc"));
#endif
#ifdef DEADHEAT_INTERPOSE_STATIC
__attribute__((weak)) void* glibc_malloc(size_t size) __asm__("__libc_malloc");
#else
// What the program calls; ours, unless it has its own.
void* program_malloc(size_t size) __asm__("malloc");
void* program_aligned_alloc(size_t alignment, size_t size) __asm__("aligned_alloc");
void program_free(void* block) __asm__("free");
#ifdef DEADHEAT_ALLOCATOR_JUMPS
__attribute__((visibility("hidden"))) void* deadheat_own_malloc(size_t size);
__attribute__((visibility("hidden"))) void deadheat_own_free(void* block);
#else
__attribute__((alias("malloc"), visibility("hidden"))) void* deadheat_own_malloc(size_t size);
__attribute__((alias("free"), visibility("hidden"))) void deadheat_own_free(void* block);
#endif
__attribute__((alias("aligned_alloc"), visibility("hidden"))) void* deadheat_own_aligned_alloc(size_t,
                                                                                               size_t);
#endif
}

namespace {

// glibc's chunk header: the word before a block is its chunk's size, with flags in the low bits.
constexpr size_t kChunkFlags = 7;
constexpr size_t kChunkIsMapped = 2;
size_t chunk_word(const void* block) { return static_cast<const size_t*>(block)[-1]; }

bool allocator_is_glibc() {
#ifdef DEADHEAT_INTERPOSE_STATIC
  return same(&libc_malloc, &glibc_malloc);
#else
  return true;
#endif
}

size_t usable_size(void* block) {
#ifdef DEADHEAT_INTERPOSE_STATIC
  if (!allocator_is_glibc()) return 0;
#endif
  size_t const word = chunk_word(block);
  return (word & ~kChunkFlags) - ((word & kChunkIsMapped) != 0 ? 2 * sizeof(size_t) : sizeof(size_t));
}

bool came_from_kernel(const void* block) {
  return allocator_is_glibc() && (chunk_word(block) & kChunkIsMapped) != 0;
}

// Before a block goes. The monitor lane wants to know how long it is, and only while it monitors.
void ending(void* block, lane::Pc pc, [[maybe_unused]] lane::MemoryThen then = lane::MemoryThen::kStays) {
#ifdef DEADHEAT_LANE_MONITOR
  if (lane::hears_of_freeing()) lane::freeing_of(block, usable_size(block), pc);
#else
  lane::freeing(block, pc, then);
#endif
}

// The same, and glibc's allocator gets it back.
void ending_for_good(void* block, lane::Pc pc) {
  ending(block, pc, came_from_kernel(block) ? lane::MemoryThen::kIsUnmapped : lane::MemoryThen::kStays);
}

void appeared(void* block, size_t size, lane::Pc pc) {
  lane::allocated(block, size, pc);
#if defined(DEADHEAT_INTERPOSE_STATIC) && !defined(DEADHEAT_LANE_MONITOR)
  // Who asks malloc_usable_size how much more there is is not seen in static programs.
  size_t const usable = usable_size(block);
  if (usable > size) lane::published(static_cast<char*>(block) + size, usable - size);
#endif
}

void* told(void* block, size_t size, lane::Pc pc) {
  if (block != nullptr) appeared(block, size, pc);
#ifdef DEADHEAT_LANE_MONITOR
  // Out of memory is where std::bad_alloc is thrown, through the program's functions to whoever catches it.
  if (__builtin_expect(block == nullptr, 0)) lane::release(nullptr);
#endif
  return block;
}

#ifndef DEADHEAT_INTERPOSE_STATIC
// Who gets what libc allocates here; null: nobody, as far as is known.
__thread lane::Pc receiver __attribute__((tls_model("initial-exec")));

bool is_in_libc(lane::Pc pc) {
  static uintptr_t libc_begin = 0;
  static uintptr_t libc_end = 0;  // 1 if it is not known
  uintptr_t end = __atomic_load_n(&libc_end, __ATOMIC_ACQUIRE);
  if (__builtin_expect(end == 0, 0)) {
    platform::CodeRange libc{0, 1};
    if (!platform::code_range_at(reinterpret_cast<uintptr_t>(&libc_calloc), &libc)) libc = {0, 1};
    end = libc.end;
    __atomic_store_n(&libc_begin, libc.begin, __ATOMIC_RELAXED);
    __atomic_store_n(&libc_end, end, __ATOMIC_RELEASE);
  }
  return pc.value < end && pc.value >= __atomic_load_n(&libc_begin, __ATOMIC_RELAXED);
}
#endif

// The allocator itself has written there.
void filled(void* block, size_t size, lane::Pc pc) {
  if (size == 0) return;
#ifndef DEADHEAT_INTERPOSE_STATIC
  if (is_in_libc(pc)) pc = receiver;
  if (pc.value == 0) return;
#endif
  lane::write(block, size, pc);
}

void* reallocate(void* block, size_t size, lane::Pc pc) {
  if (block == nullptr) return told(libc_malloc(size), size, pc);
  size_t const old_size = usable_size(block);
  ending(block, pc);
  void* const moved = libc_realloc(block, size);
  if (moved != nullptr) {
    appeared(moved, size, pc);
    filled(moved, old_size < size ? old_size : size, pc);
  } else if (size != 0) {
    lane::allocated(block, old_size, pc);  // failed: the old block is still the program's
  }
  return moved;
}

}  // namespace

#ifdef DEADHEAT_ALLOCATOR_JUMPS

DH_ALLOCATOR_JUMP("malloc", "deadheat_own_malloc", "jmpq *__libc_malloc@GOTPCREL(%rip)")
// The runtime is in the executable: its thread-local variables are at known places.
DH_ALLOCATOR_JUMP("free", "deadheat_own_free",
                  "cmpl $0, %fs:__dh_monitor_hot@TPOFF\n"
                  "jne deadheat_heard_free\n"
                  "cmpq $0, __dh_monitor_gate(%rip)\n"
                  "jne deadheat_heard_free\n"
                  "jmpq *__libc_free@GOTPCREL(%rip)")

extern "C" __attribute__((visibility("hidden"), used, noinline)) void deadheat_heard_free(void* block) {
  if (block == nullptr) return;
  ending_for_good(block, CALLER);
  libc_free(block);
}

#else

REPLACE(void*, malloc, size_t size) { return told(libc_malloc(size), size, CALLER); }

REPLACE(void, free, void* block) {
  if (block == nullptr) return;
  ending_for_good(block, CALLER);
  libc_free(block);
}

#endif

REPLACE(void*, calloc, size_t count, size_t size) {
  void* const block = libc_calloc(count, size);  // null if the product overflows
  if (block == nullptr) return nullptr;
  size_t const total = count * size;
  appeared(block, total, CALLER);
  if (!came_from_kernel(block)) filled(block, total, CALLER);
  return block;
}

REPLACE(void*, realloc, void* block, size_t size) { return reallocate(block, size, CALLER); }

REPLACE(void*, reallocarray, void* block, size_t count, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocate(block, total, CALLER);
}

// Removed from glibc's headers, still called by old programs.
REPLACE(void, cfree, void* block) {
  if (block == nullptr) return;
  ending_for_good(block, CALLER);
  libc_free(block);
}

REPLACE(void*, memalign, size_t alignment, size_t size) {
  return told(libc_memalign(alignment, size), size, CALLER);
}

REPLACE(void*, aligned_alloc, size_t alignment, size_t size) {
  return told(libc_memalign(alignment, size), size, CALLER);
}

REPLACE(int, posix_memalign, void** result, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  int const saved = errno;
  void* const block = libc_memalign(alignment, size);
  errno = saved;  // the error is the result
  if (block == nullptr) return ENOMEM;
  appeared(block, size, CALLER);
  *result = block;
  lane::write(result, sizeof *result, CALLER);
  return 0;
}

// Not in static programs: asking for them would bring in all of glibc's allocator beside a program's own.
#ifndef DEADHEAT_INTERPOSE_STATIC

REPLACE(void*, valloc, size_t size) { return told(libc_valloc(size), size, CALLER); }

REPLACE(void*, pvalloc, size_t size) { return told(libc_pvalloc(size), size, CALLER); }

// Whoever asks may use all of it: redis keeps its strings there.
REPLACE(size_t, malloc_usable_size, void* block) {
  if (block == nullptr) return 0;
  size_t const size = usable_size(block);
  lane::usable(block, size);
  return size;
}

#endif

namespace deadheat::interpose {

#ifdef DEADHEAT_INTERPOSE_STATIC

HandsOut::HandsOut(lane::Pc) {}
HandsOut::~HandsOut() {}

bool hears_of_frees() { return true; }

void* allocate(size_t size, lane::Pc pc) { return told(libc_malloc(size), size, pc); }
void* allocate_aligned(size_t alignment, size_t size, lane::Pc pc) {
  return told(libc_memalign(alignment, size), size, pc);
}
void deallocate(void* block, lane::Pc pc) {
  if (block == nullptr) return;
  ending_for_good(block, pc);
  libc_free(block);
}

#else

HandsOut::HandsOut(lane::Pc pc) { receiver = pc; }
HandsOut::~HandsOut() { receiver = lane::Pc{0}; }

bool hears_of_frees() { return same(&program_free, &deadheat_own_free); }

void* allocate(size_t size, lane::Pc pc) {
  bool const ours = same(&program_malloc, &deadheat_own_malloc);
  return told(ours ? libc_malloc(size) : program_malloc(size), size, pc);
}
void* allocate_aligned(size_t alignment, size_t size, lane::Pc pc) {
  bool const ours = same(&program_aligned_alloc, &deadheat_own_aligned_alloc);
  return told(ours ? libc_memalign(alignment, size) : program_aligned_alloc(alignment, size), size, pc);
}
void deallocate(void* block, lane::Pc pc) {
  if (block == nullptr) return;
  if (same(&program_free, &deadheat_own_free)) {
    ending_for_good(block, pc);
    libc_free(block);
  } else {
    ending(block, pc);
    program_free(block);
  }
}

#endif

}  // namespace deadheat::interpose
