// What goes through the kernel and comes back: children, timers, queues, semaphores by number, file locks.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" {
extern int record_objects;  // objects without a name appear as #1, #2, ...
void record_forget_objects();
}

static void queues() {
  int const queue = msgget(IPC_PRIVATE, 0600);
  if (queue < 0) return;  // a kernel without them
  struct {
    long type;
    char text[8];
  } m = {1, "hello"};
  record_name(&m, sizeof m, "m");
  EXPECT(CHECK(msgsnd(queue, &m, 6, 0) == 0), "read m 14; release #1");
  EXPECT(CHECK(msgrcv(queue, &m, 8, 0, 0) == 6), "acquire #1; write m 14");
  EXPECT(CHECK(msgrcv(queue, &m, 8, 0, IPC_NOWAIT) < 0), "");
  msgctl(queue, IPC_RMID, nullptr);
}

static void semaphores() {
  int const set = semget(IPC_PRIVATE, 1, 0600);
  if (set < 0) return;
  sembuf s = {0, 1, 0};
  record_forget_names();
  record_name(&s, sizeof s, "s");
  EXPECT(CHECK(semop(set, &s, 1) == 0), "read s 6; release #1");
  s.sem_op = -1;
  EXPECT(CHECK(semop(set, &s, 1) == 0), "read s 6; acquire #1");
  s.sem_flg = IPC_NOWAIT;
  EXPECT(CHECK(semop(set, &s, 1) < 0), "read s 6");
  EXPECT(CHECK(semctl(set, 0, SETVAL, 1) == 0), "release #1");
  EXPECT(CHECK(semctl(set, 0, GETVAL) == 1), "");
  semctl(set, 0, IPC_RMID);
}

static void file_locks() {
  char name[] = "/tmp/deadheat-lock-XXXXXX";
  int const a = mkstemp(name);
  CHECK(a >= 0);
  int const b = open(name, O_RDWR);
  unlink(name);
  EXPECT(CHECK(flock(a, LOCK_EX) == 0), "acquire #1");
  EXPECT(CHECK(flock(b, LOCK_EX | LOCK_NB) < 0), "");
  EXPECT(CHECK(flock(a, LOCK_UN) == 0), "release #1");
  EXPECT(CHECK(flock(b, LOCK_SH) == 0), "acquire #1");
  EXPECT(CHECK(flock(b, LOCK_UN) == 0), "release #1");
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  EXPECT(CHECK(fcntl(a, F_OFD_SETLK, &lock) == 0), "acquire #1");
  EXPECT(CHECK(fcntl(b, F_OFD_SETLK, &lock) < 0), "");
  EXPECT(CHECK(fcntl(a, F_OFD_GETLK, &lock) == 0), "");
  lock.l_type = F_UNLCK;
  EXPECT(CHECK(fcntl(a, F_OFD_SETLK, &lock) == 0), "release #1");
  EXPECT(CHECK(fcntl(b, F_SETLK, &lock) == 0), "");
  EXPECT(close(b), "release #1");
  close(a);
}

static void mremap_tells_before_it_moves() {
  auto* const p =
      static_cast<char*>(mmap(nullptr, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  record_forget_names();
  record_name(p, 8 * 4096, "p");
  record_allocations = true;
  EXPECT(CHECK(mremap(p, 8 * 4096, 4 * 4096, 0) == p), "unmapping 16384");
  EXPECT(CHECK(mremap(p, 4 * 4096, 8 * 4096, 0) == p), "mapped 16384");
  CHECK(munmap(p + 4 * 4096, 4 * 4096) == 0);
  void* const wall = mmap(p + 4 * 4096, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(wall == p + 4 * 4096);
  EXPECT(CHECK(mremap(p, 4 * 4096, 8 * 4096, 0) == MAP_FAILED && errno == ENOMEM), "");
  EXPECT(CHECK(mremap(p, 4 * 4096, 8 * 4096, MREMAP_MAYMOVE) != MAP_FAILED), "unmapping 16384; mapped 32768");
  record_allocations = false;
}

static void children() {
  int ends[2];
  CHECK(pipe(ends) == 0);
  char buffer[8];
  // Nothing was started yet: a read hears of nobody outside.
  CHECK(write(ends[1], "x", 1) == 1);
  EXPECT(CHECK(read(ends[0], buffer, 1) == 1), "acquire #1");
  EXPECT(CHECK(system("true") == 0), "release #2; acquire #2");
  CHECK(write(ends[1], "x", 1) == 1);
  EXPECT(CHECK(read(ends[0], buffer, 1) == 1), "acquire #1; acquire #2");
  pid_t child = 0;
  char path[] = "/bin/true";
  char* const arguments[] = {path, nullptr};
  EXPECT(CHECK(posix_spawn(&child, path, nullptr, nullptr, arguments, environ) == 0), "release #2");
  EXPECT(CHECK(waitpid(child, nullptr, 0) == child), "acquire #2");
  EXPECT(CHECK((child = fork()) >= 0); if (child == 0) _exit(0), "release #2; fork_preparing; fork_parent");
  EXPECT(CHECK(wait(nullptr) == child), "acquire #2");
  itimerval const soon = {{0, 0}, {0, 1000}};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  EXPECT(CHECK(setitimer(ITIMER_REAL, &soon, nullptr) == 0), "release #2");
  int signal = 0;
  EXPECT(CHECK(sigwait(&set, &signal) == 0 && signal == SIGALRM), "acquire #3; acquire #2");
}

int main() {
  record_objects = 1;
  record_forget_objects();
  queues();
  record_forget_objects();
  semaphores();
  record_forget_objects();
  file_locks();
  mremap_tells_before_it_moves();
  record_forget_objects();
  children();
}
