// dlopen and dlclose.
//
// dlopen runs constructors in the thread that calls it first; another that opens the same library comes after
// them. The loader's own lock orders the two, out of our sight; so a lock of ours is held over the call,
// outside the loader's, and recursive like it, because constructors may call dlopen.
//
// dlclose ends the life of a library's addresses: what disappears from the list of loaded objects is told.
// Reports tell of code by its address, long after; so another library does not come to stand at the same
// place, unless libraries come and go all the time.
//
// dlopen looks for libraries on behalf of its caller ($ORIGIN, DT_RUNPATH). Called from the executable, our
// frame says the same. Called from a library, the call goes on to the real one directly, and only what came
// before it is ordered.
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "runtime/interpose/interpose.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

extern "C" {
extern const char executable_start __asm__("__executable_start") __attribute__((visibility("hidden")));
extern const char executable_end __asm__("etext") __attribute__((visibility("hidden")));
}

namespace {

class LoaderLock {
 public:
  void lock() {
    uint32_t const self = current_tid();
    if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) != self) {
      uint32_t expected = 0;
      while (
          !__atomic_compare_exchange_n(&owner_, &expected, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        __atomic_store_n(&waiters_, 1u, __ATOMIC_SEQ_CST);
        platform::syscall6(SYS_futex, reinterpret_cast<long>(&owner_), FUTEX_WAIT_PRIVATE, expected);
        expected = 0;
      }
    }
    ++depth_;
  }
  void unlock() {
    if (--depth_ != 0) return;
    __atomic_store_n(&owner_, 0u, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&waiters_, 0u, __ATOMIC_SEQ_CST) != 0) {
      platform::syscall6(SYS_futex, reinterpret_cast<long>(&owner_), FUTEX_WAKE_PRIVATE, 0x7fffffff);
    }
  }

 private:
  uint32_t owner_ = 0;
  uint32_t waiters_ = 0;
  uint32_t depth_ = 0;
};
LoaderLock loader_lock;
char loader_order;

bool called_by_executable(lane::Pc pc) {
  return pc.value >= reinterpret_cast<uintptr_t>(&executable_start) &&
         pc.value < reinterpret_cast<uintptr_t>(&executable_end);
}

struct Range {
  uintptr_t start;
  uintptr_t end;
};
constexpr size_t kObjects = 4096;
struct Objects {
  size_t count;
  Range ranges[kObjects];
};

int collect(dl_phdr_info* info, size_t, void* argument) {
  auto* const objects = static_cast<Objects*>(argument);
  Range range = {~uintptr_t{0}, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    uintptr_t const start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    uintptr_t const end = start + info->dlpi_phdr[i].p_memsz;
    if (start < range.start) range.start = start;
    if (end > range.end) range.end = end;
  }
  if (range.end > range.start && objects->count < kObjects) objects->ranges[objects->count++] = range;
  return 0;
}

Objects* loaded_objects() {
  auto* const objects = static_cast<Objects*>(platform::try_map_pages(sizeof(Objects)));
  if (objects != nullptr) dl_iterate_phdr(collect, objects);
  return objects;
}

// Most calls open what is open already. REQUIRES: loader_lock.
void tell_of_new_libraries() {
  if (&lane::libraries_loaded == nullptr) return;
  static unsigned long long told;
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* count) {
        *static_cast<unsigned long long*>(count) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  if (loaded == told) return;
  told = loaded;
  lane::libraries_loaded();
}

// Nothing is mapped at these addresses any more, and nothing will be. Not for ever more of them: a program
// that reloads its plugins has an address space to lose, and memory for ever new call stacks.
void keep_from_others(const Range& range) {
  constexpr unsigned kMost = 64;
  constexpr size_t kMostBytes = size_t{256} << 20;
  static unsigned kept;
  static size_t kept_bytes;
  uintptr_t const start = range.start & ~uintptr_t{4095};
  size_t const size = ((range.end + 4095) & ~uintptr_t{4095}) - start;
  rlimit room{};
  bool const is_limited =
      platform::failed(platform::sys_getrlimit(RLIMIT_AS, &room)) || room.rlim_cur != RLIM_INFINITY;
  if (is_limited || kept == kMost || kept_bytes + size > kMostBytes) return;
  ++kept;
  kept_bytes += size;
  platform::syscall6(SYS_mmap, static_cast<long>(start), static_cast<long>(size), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

bool contains(const Objects* objects, const Range& range) {
  for (size_t i = 0; i < objects->count; ++i) {
    if (objects->ranges[i].start == range.start && objects->ranges[i].end == range.end) return true;
  }
  return false;
}

}  // namespace

INTERPOSE(void*, dlopen, const char* file, int mode) {
  auto const pc = CALLER;
  if (!called_by_executable(pc)) {
    lane::acquire(&loader_order);
    [[clang::musttail]] return REAL(dlopen)(file, mode);
  }
  loader_lock.lock();
  void* const handle = REAL(dlopen)(file, mode);
  tell_of_new_libraries();
  lane::acquire(&loader_order);
  lane::release(&loader_order);
  loader_lock.unlock();
  return handle;
}

INTERPOSE(void*, dlmopen, Lmid_t space, const char* file, int mode) {
  auto const pc = CALLER;
  if (!called_by_executable(pc)) {
    lane::acquire(&loader_order);
    [[clang::musttail]] return REAL(dlmopen)(space, file, mode);
  }
  loader_lock.lock();
  void* const handle = REAL(dlmopen)(space, file, mode);
  tell_of_new_libraries();
  lane::acquire(&loader_order);
  lane::release(&loader_order);
  loader_lock.unlock();
  return handle;
}

INTERPOSE(int, dlclose, void* handle) {
  auto const pc = CALLER;
  loader_lock.lock();
  lane::acquire(&loader_order);  // destructors of the library come after its users
  Objects* const before = loaded_objects();
  if (&lane::library_closing != nullptr) lane::library_closing();
  int const result = REAL(dlclose)(handle);
  int const saved = errno;
  if (Objects* const after = before != nullptr ? loaded_objects() : nullptr) {
    for (size_t i = 0; i < before->count; ++i) {
      Range const range = before->ranges[i];
      if (contains(after, range)) continue;
      lane::unmapping(reinterpret_cast<void*>(range.start), range.end - range.start, pc);
      if (&lane::library_closing != nullptr) keep_from_others(range);
    }
    platform::sys_munmap(after, sizeof *after);
  }
  if (before != nullptr) platform::sys_munmap(before, sizeof *before);
  errno = saved;
  lane::release(&loader_order);
  loader_lock.unlock();
  return result;
}
