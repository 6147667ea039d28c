// Of <sanitizer/linux_syscall_hooks.h>, the calls through which threads hand each other data: they mean what
// the calls of libc's mean (interpose/file_descriptors.cc). Of the others nothing is told
// (cmake/syscall_hooks.cmake).
#include <stddef.h>
#include <sys/types.h>

#define INTERFACE __attribute__((weak, visibility("hidden")))
#define UNUSED __attribute__((unused))
#define CALLER __builtin_return_address(0)

void __deadheat_syscall_received(int fd, void* buffer, ssize_t size, void* caller);
void __deadheat_syscall_sending(int fd, const void* buffer, size_t size, void* caller);
void __deadheat_syscall_closing(int fd);
void __deadheat_syscall_filled(void* buffer, size_t size, void* caller);

INTERFACE void __sanitizer_syscall_post_impl_read(long result, long fd, long buffer, long size UNUSED) {
  __deadheat_syscall_received((int)fd, (void*)buffer, result, CALLER);
}
INTERFACE void __sanitizer_syscall_post_impl_pread64(long result, long fd, long buffer, long size UNUSED,
                                                     long position UNUSED) {
  __deadheat_syscall_received((int)fd, (void*)buffer, result, CALLER);
}
INTERFACE void __sanitizer_syscall_pre_impl_write(long fd, long buffer, long size) {
  __deadheat_syscall_sending((int)fd, (const void*)buffer, (size_t)size, CALLER);
}
INTERFACE void __sanitizer_syscall_pre_impl_pwrite64(long fd, long buffer, long size, long position UNUSED) {
  __deadheat_syscall_sending((int)fd, (const void*)buffer, (size_t)size, CALLER);
}
INTERFACE void __sanitizer_syscall_pre_impl_close(long fd) { __deadheat_syscall_closing((int)fd); }
INTERFACE void __sanitizer_syscall_post_impl_pipe(long result, long ends) {
  if (result == 0) __deadheat_syscall_filled((void*)ends, 2 * sizeof(int), CALLER);
}
INTERFACE void __sanitizer_syscall_post_impl_pipe2(long result, long ends, long flags UNUSED) {
  if (result == 0) __deadheat_syscall_filled((void*)ends, 2 * sizeof(int), CALLER);
}
