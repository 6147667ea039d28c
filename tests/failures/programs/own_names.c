// A program in ISO C may have functions of its own that are named like POSIX's: nobody else calls them.
#include <stdatomic.h>
#include <threads.h>

int called, shared;

#define MINE(name) \
  long name(void) { return ++called; }
// clang-format off
MINE(write) MINE(read) MINE(open) MINE(close) MINE(send) MINE(pipe) MINE(pipe2) MINE(link) MINE(dup)
MINE(dup2) MINE(getpid) MINE(waitpid) MINE(readlink) MINE(sigaction) MINE(execve) MINE(fstat) MINE(poll)
MINE(kill) MINE(fcntl) MINE(sysconf) MINE(prctl) MINE(gettid) MINE(getline) MINE(writev) MINE(access)
MINE(unlink) MINE(stat) MINE(lseek) MINE(ftruncate) MINE(usleep) MINE(syscall) MINE(sigprocmask)
MINE(sigaltstack) MINE(getrlimit) MINE(madvise) MINE(mprotect) MINE(isatty) MINE(getcwd) MINE(setenv)
MINE(tgkill) MINE(posix_spawn) MINE(basename) MINE(shmctl) MINE(getrusage) MINE(mincore) MINE(prlimit)
MINE(fork)
    // clang-format on

    static atomic_int turn;

static int other(void* _) {
  shared = 1;
  atomic_store_explicit(&turn, 1, memory_order_relaxed);
  return 0;
}

int main(void) {
  thrd_t thread;
  thrd_create(&thread, other, 0);
  while (atomic_load_explicit(&turn, memory_order_relaxed) == 0) thrd_yield();
  shared = 2;
  thrd_join(thread, 0);
  return called;
}
