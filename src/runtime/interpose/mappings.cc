// Address space that comes and goes without the allocator. What was known of the addresses ends with the
// mapping.
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "runtime/interpose/interpose.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

size_t whole_pages(size_t size) { return (size + 4095) & ~size_t{4095}; }

bool is_range(const void* address, size_t size) {
  constexpr uintptr_t kUserSpace = uintptr_t{1} << 47;
  auto const begin = reinterpret_cast<uintptr_t>(address);
  return begin % 4096 == 0 && size != 0 && begin < kUserSpace && size <= kUserSpace - begin;
}

// shmdt is told only where; attachments are few.
struct Attachment {
  void* address;
  size_t size;
};
constexpr unsigned kAttachments = 256;
Attachment attachments[kAttachments];
platform::Spinlock attachments_lock;

void attached(void* address, size_t size) {
  CriticalSection const critical;
  platform::SpinGuard const guard(attachments_lock);
  for (Attachment& a : attachments) {
    if (a.address != nullptr) continue;
    a = Attachment{address, size};
    return;
  }
}
size_t detaching(const void* address) {
  CriticalSection const critical;
  platform::SpinGuard const guard(attachments_lock);
  for (Attachment& a : attachments) {
    if (a.address != address) continue;
    size_t const size = a.size;
    a.address = nullptr;
    return size;
  }
  return 0;
}

}  // namespace

namespace {
// Is it a shared mapping of a file that was opened for reading only? The kernel never makes that writable.
bool is_unwritable(int protection, int flags, int fd) {
  int const type = flags & MAP_TYPE;
  if ((protection & PROT_WRITE) != 0 || (flags & MAP_ANONYMOUS) != 0 ||
      (type != MAP_SHARED && type != MAP_SHARED_VALIDATE))
    return false;
  long const mode = platform::syscall6(SYS_fcntl, fd, F_GETFL);
  return !platform::failed(mode) && (mode & O_ACCMODE) == O_RDONLY;
}

void tell_mapped(void* address, size_t size, int protection, int flags, int fd, lane::Pc pc) {
  if (address == MAP_FAILED) return;
  lane::mapped(address, whole_pages(size), pc);
  if (&lane::mapped_unwritable != nullptr && is_unwritable(protection, flags, fd))
    lane::mapped_unwritable(address, whole_pages(size));
}
}  // namespace

INTERPOSE(void*, mmap, void* hint, size_t size, int protection, int flags, int fd, off_t offset) {
  void* const address = REAL(mmap)(hint, size, protection, flags, fd, offset);
  tell_mapped(address, size, protection, flags, fd, CALLER);
  return address;
}
INTERPOSE(void*, mmap64, void* hint, size_t size, int protection, int flags, int fd, off_t offset) {
  void* const address = REAL(mmap64)(hint, size, protection, flags, fd, offset);
  tell_mapped(address, size, protection, flags, fd, CALLER);
  return address;
}
INTERPOSE(int, munmap, void* address, size_t size) {
  if (is_range(address, size)) lane::unmapping(address, whole_pages(size), CALLER);
  return REAL(munmap)(address, size);
}
INTERPOSE(void*, mremap, void* address, size_t old_size, size_t size, int flags, ...) {
  va_list list;
  va_start(list, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  auto const pc = CALLER;
  size_t const before = whole_pages(old_size);
  size_t const after = whole_pages(size);
  auto* const bytes = static_cast<char*>(address);
  bool const fixed = (flags & MREMAP_FIXED) != 0;
  // Addresses that are given up may be somebody else's at once: their end is told before. Whether they are is
  // found out by asking for the same without moving first, as the kernel would.
  if (!fixed && after < before && is_range(address, before))
    lane::unmapping(bytes + after, before - after, pc);
  if (!fixed && before != 0) {
    int const saved = errno;
    if (REAL(mremap)(address, old_size, size, 0, nullptr) == address) {
      if (after > before) lane::mapped(bytes + before, after - before, pc);
      return address;
    }
    if ((flags & MREMAP_MAYMOVE) == 0) return MAP_FAILED;
    errno = saved;
  }
  bool const given_up = before != 0 && (flags & MREMAP_DONTUNMAP) == 0 && is_range(address, before);
  if (given_up) lane::unmapping(address, before, pc);
  void* const moved = REAL(mremap)(address, old_size, size, flags, wanted);
  if (moved != MAP_FAILED) lane::mapped(moved, after, pc);
  return moved;
}
INTERPOSE(void*, shmat, int id, const void* hint, int flags) {
  void* const address = REAL(shmat)(id, hint, flags);
  if (address == reinterpret_cast<void*>(-1)) return address;
  int const saved = errno;
  shmid_ds description;
  if (!platform::failed(platform::syscall6(SYS_shmctl, id, IPC_STAT, reinterpret_cast<long>(&description)))) {
    attached(address, whole_pages(description.shm_segsz));
    lane::mapped(address, whole_pages(description.shm_segsz), CALLER);
  }
  errno = saved;
  return address;
}
INTERPOSE(int, shmdt, const void* address) {
  if (size_t const size = detaching(address)) lane::unmapping(const_cast<void*>(address), size, CALLER);
  return REAL(shmdt)(address);
}
