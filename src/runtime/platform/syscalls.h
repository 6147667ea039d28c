// System calls made directly: the runtime must not go through libc functions that it interposes itself.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace deadheat::platform {

// Returns the kernel's answer: a negated errno on failure. Leaves errno alone.
inline long syscall6(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline bool failed(long result) { return result < 0 && result > -4096; }

inline long sys_write(int fd, const void* data, size_t size) {
  return syscall6(SYS_write, fd, reinterpret_cast<long>(data), static_cast<long>(size));
}
inline long sys_open(const char* path, int flags, int mode) {
  return syscall6(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags, mode);
}
inline long sys_close(int fd) { return syscall6(SYS_close, fd); }
inline long sys_read(int fd, void* data, size_t size) {
  return syscall6(SYS_read, fd, reinterpret_cast<long>(data), static_cast<long>(size));
}
inline int sys_getpid() { return static_cast<int>(syscall6(SYS_getpid)); }
inline int sys_gettid() { return static_cast<int>(syscall6(SYS_gettid)); }
inline void sys_yield() { syscall6(SYS_sched_yield); }
inline long sys_madvise(void* address, size_t size, int advice) {
  return syscall6(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(size), advice);
}
// Into a struct rlimit. Not libc's function: a program in ISO C may have one of that name.
inline long sys_getrlimit(int resource, void* limit) {
  return syscall6(SYS_prlimit64, 0, resource, 0, reinterpret_cast<long>(limit));
}
inline long sys_munmap(void* address, size_t size) {
  return syscall6(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(size));
}

}  // namespace deadheat::platform
