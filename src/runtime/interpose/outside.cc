// Processes and timers that are started (outside.h), and what the kernel passes on by number: System V's and
// POSIX's queues and semaphores, file locks, asynchronous writes.
#include "runtime/interpose/outside.h"

#include <aio.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/strings.h"
#include "runtime/platform/spinlock.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

// Each a granule of its own.
struct alignas(8) Object {
  char order;
};

Object outside;
bool anything_outside;
bool sending_signals;
int children;  // that were started and have not been waited for

Object message_queues;  // POSIX's: one for all of them
Object file_locks;
bool any_file_lock;

// What descriptors hold, so that a lock that is changed is known from one that is taken. One that is not
// remembered any more, or was taken through another descriptor that is closed since, counts as not held.
struct HeldFileLock {
  int fd;
  FileLockKind kind;
  FileLock held;  // kNone: nothing is remembered here
};
constexpr unsigned kHeldFileLocks = 64;
HeldFileLock held_file_locks[kHeldFileLocks];
unsigned next_held_file_lock;
platform::Spinlock held_file_locks_lock;

// REQUIRES: held_file_locks_lock.
HeldFileLock* held_file_lock(int fd, FileLockKind kind) {
  for (HeldFileLock& h : held_file_locks)
    if (h.held != FileLock::kNone && h.kind == kind && h.fd == fd) return &h;
  for (HeldFileLock& h : held_file_locks)
    if (h.held != FileLock::kNone && h.kind == kind && is_same_description(h.fd, fd) == Same::kYes) return &h;
  return nullptr;
}

class HeldFileLocksGuard {
 public:
  HeldFileLocksGuard() { held_file_locks_lock.lock(); }
  ~HeldFileLocksGuard() { held_file_locks_lock.unlock(); }

 private:
  CriticalSection critical_;  // left after the lock
};

// Does a call that wants this give up what is held? flock gives up the old lock before it asks for the new
// one; fcntl changes one into the other.
bool gives_up(FileLockKind kind, FileLock held, FileLock wanted) {
  if (kind == FileLockKind::kFlock) return held != FileLock::kNone && held != wanted;
  return held == FileLock::kExclusive && wanted == FileLock::kShared;
}

// By the number that the kernel gave it. Where two share one, there is more order than there is.
constexpr unsigned kNumbered = 1024;
Object numbered[2][kNumbered];
enum Family { kQueue, kSemaphores };
const void* object_of(Family family, int id) {
  return &numbered[family][static_cast<unsigned>(id) % kNumbered];
}

bool is_set(const bool& flag) { return __atomic_load_n(&flag, __ATOMIC_RELAXED); }
void set(bool* flag) {
  if (!is_set(*flag)) __atomic_store_n(flag, true, __ATOMIC_RELAXED);
}

}  // namespace

namespace deadheat::interpose {

// The flag is set by the first one before anything is started, so that who hears of it sees it.
void starting_outside() {
  set(&anything_outside);
  lane::release(&outside);
}
void heard_from_outside() {
  if (is_set(anything_outside)) lane::acquire(&outside);
}

void child_starting() {
  __atomic_fetch_add(&children, 1, __ATOMIC_RELAXED);
  starting_outside();
}
void child_has_ended() { __atomic_fetch_sub(&children, 1, __ATOMIC_RELAXED); }
void children_may_hear() {
  if (__atomic_load_n(&children, __ATOMIC_RELAXED) > 0) starting_outside();
}

void signals_tell_of_sending() { set(&sending_signals); }
void sending_may_signal() {
  if (is_set(sending_signals)) starting_outside();
}

void file_locking(int fd, FileLockKind kind, FileLock wanted) {
  bool releases = wanted == FileLock::kNone;
  if (!releases && is_set(any_file_lock)) {
    HeldFileLocksGuard const guard;
    const HeldFileLock* const held = held_file_lock(fd, kind);
    releases = held != nullptr && gives_up(kind, held->held, wanted);
  }
  if (releases) lane::release(&file_locks);
}
void file_locked(int fd, FileLockKind kind, FileLock wanted) {
  if (wanted != FileLock::kNone) {
    set(&any_file_lock);
    lane::acquire(&file_locks);
  }
  if (!is_set(any_file_lock)) return;
  HeldFileLocksGuard const guard;
  if (HeldFileLock* const held = held_file_lock(fd, kind)) {
    held->held = wanted;
    return;
  }
  if (wanted != FileLock::kNone) held_file_locks[next_held_file_lock++ % kHeldFileLocks] = {fd, kind, wanted};
}
void closing_lockable(int fd) {
  if (!is_set(any_file_lock)) return;
  lane::release(&file_locks);
  HeldFileLocksGuard const guard;
  for (HeldFileLock& h : held_file_locks)
    if (h.fd == fd) h.held = FileLock::kNone;
}
void file_locks_fork_prepare() { held_file_locks_lock.lock(); }
void file_locks_fork_done() { held_file_locks_lock.unlock(); }

}  // namespace deadheat::interpose

// --- Processes; fork is in processes.cc

INTERPOSE(int, posix_spawn, pid_t* process, const char* path, const posix_spawn_file_actions_t* files,
          const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  child_starting();
  int const result = REAL(posix_spawn)(process, path, files, attributes, arguments, environment);
  if (result != 0) child_has_ended();
  if (result == 0 && process != nullptr) lane::write(process, sizeof *process, CALLER);
  return result;
}
INTERPOSE(int, posix_spawnp, pid_t* process, const char* file, const posix_spawn_file_actions_t* files,
          const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  child_starting();
  int const result = REAL(posix_spawnp)(process, file, files, attributes, arguments, environment);
  if (result != 0) child_has_ended();
  if (result == 0 && process != nullptr) lane::write(process, sizeof *process, CALLER);
  return result;
}
INTERPOSE(int, system, const char* command) {
  if (command != nullptr) reads_string(command, CALLER);
  child_starting();
  int const result = REAL(system)(command);
  child_has_ended();
  heard_from_outside();
  return result;
}
INTERPOSE(FILE*, popen, const char* command, const char* mode) {
  reads_string(command, CALLER);
  child_starting();
  FILE* const stream = REAL(popen)(command, mode);
  if (stream == nullptr) child_has_ended();
  return stream;
}

// --- Timers: what comes of them is a signal, or a byte to read

INTERPOSE(int, timer_settime, timer_t timer, int flags, const itimerspec* value, itimerspec* old) {
  lane::read(value, sizeof *value, CALLER);
  starting_outside();
  int const result = REAL(timer_settime)(timer, flags, value, old);
  if (result == 0 && old != nullptr) lane::write(old, sizeof *old, CALLER);
  return result;
}
INTERPOSE(int, timerfd_settime, int fd, int flags, const itimerspec* value, itimerspec* old) {
  lane::read(value, sizeof *value, CALLER);
  starting_outside();
  int const result = REAL(timerfd_settime)(fd, flags, value, old);
  if (result == 0 && old != nullptr) lane::write(old, sizeof *old, CALLER);
  return result;
}
INTERPOSE(int, setitimer, __itimer_which_t which, const itimerval* value, itimerval* old) {
  if (value != nullptr) lane::read(value, sizeof *value, CALLER);
  starting_outside();
  int const result = REAL(setitimer)(which, value, old);
  if (result == 0 && old != nullptr) lane::write(old, sizeof *old, CALLER);
  return result;
}
INTERPOSE(unsigned, alarm, unsigned seconds) {
  starting_outside();
  return REAL(alarm)(seconds);
}

// --- Queues: what is received was sent before

INTERPOSE(int, msgsnd, int id, const void* message, size_t size, int flags) {
  lane::read(message, sizeof(long) + size, CALLER);
  lane::release(object_of(kQueue, id));
  return REAL(msgsnd)(id, message, size, flags);
}
INTERPOSE(ssize_t, msgrcv, int id, void* message, size_t size, long type, int flags) {
  ssize_t const got = REAL(msgrcv)(id, message, size, type, flags);
  if (got >= 0) {
    lane::acquire(object_of(kQueue, id));
    heard_from_outside();
    lane::write(message, sizeof(long) + static_cast<size_t>(got), CALLER);
  }
  return got;
}
namespace {
void sending_message(const char* message, size_t size, lane::Pc pc) {
  if (size != 0) lane::read(message, size, pc);
  lane::release(&message_queues);
  sending_may_signal();
}
ssize_t received_message(char* message, ssize_t size, unsigned* priority, lane::Pc pc) {
  if (size < 0) return size;
  lane::acquire(&message_queues);
  heard_from_outside();
  if (size > 0) lane::write(message, static_cast<size_t>(size), pc);
  if (priority != nullptr) lane::write(priority, sizeof *priority, pc);
  return size;
}
}  // namespace
INTERPOSE(int, mq_send, mqd_t queue, const char* message, size_t size, unsigned priority) {
  sending_message(message, size, CALLER);
  return REAL(mq_send)(queue, message, size, priority);
}
INTERPOSE(int, mq_timedsend, mqd_t queue, const char* message, size_t size, unsigned priority,
          const struct timespec* until) {
  sending_message(message, size, CALLER);
  return REAL(mq_timedsend)(queue, message, size, priority, until);
}
INTERPOSE(ssize_t, mq_receive, mqd_t queue, char* message, size_t room, unsigned* priority) {
  return received_message(message, REAL(mq_receive)(queue, message, room, priority), priority, CALLER);
}
INTERPOSE(ssize_t, mq_timedreceive, mqd_t queue, char* message, size_t room, unsigned* priority,
          const struct timespec* until) {
  return received_message(message, REAL(mq_timedreceive)(queue, message, room, priority, until), priority,
                          CALLER);
}

INTERPOSE(int, mq_notify, mqd_t queue, const sigevent* event) {
  if (event != nullptr) {
    lane::read(event, sizeof *event, CALLER);
    starting_outside();
    signals_tell_of_sending();
  }
  return REAL(mq_notify)(queue, event);
}

// --- System V's semaphores: an operation that adds releases, one that takes or waits acquires

namespace {
bool any_adds(const sembuf* operations, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (operations[i].sem_op > 0) return true;
  }
  return false;
}
bool any_waits(const sembuf* operations, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (operations[i].sem_op <= 0) return true;
  }
  return false;
}
void changing_semaphores(int id, const sembuf* operations, size_t count, lane::Pc pc) {
  if (count == 0) return;
  lane::read(operations, count * sizeof *operations, pc);
  if (any_adds(operations, count)) lane::release(object_of(kSemaphores, id));
}
void changed_semaphores(int id, const sembuf* operations, size_t count, int result) {
  if (result != 0 || !any_waits(operations, count)) return;
  lane::acquire(object_of(kSemaphores, id));
  heard_from_outside();
}
}  // namespace
INTERPOSE(int, semop, int id, sembuf* operations, size_t count) {
  changing_semaphores(id, operations, count, CALLER);
  int const result = REAL(semop)(id, operations, count);
  changed_semaphores(id, operations, count, result);
  return result;
}
INTERPOSE(int, semtimedop, int id, sembuf* operations, size_t count, const struct timespec* timeout) {
  changing_semaphores(id, operations, count, CALLER);
  int const result = REAL(semtimedop)(id, operations, count, timeout);
  changed_semaphores(id, operations, count, result);
  return result;
}
INTERPOSE(int, semctl, int id, int number, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);  // or not there, and not used
  va_end(list);
  if (command == SETVAL || command == SETALL) lane::release(object_of(kSemaphores, id));
  return REAL(semctl)(id, number, command, argument);
}

// --- File locks; those of fcntl are in file_descriptors.cc

INTERPOSE(int, flock, int fd, int operation) {
  FileLock const wanted = (operation & LOCK_UN) != 0   ? FileLock::kNone
                          : (operation & LOCK_EX) != 0 ? FileLock::kExclusive
                                                       : FileLock::kShared;
  file_locking(fd, FileLockKind::kFlock, wanted);
  int const result = REAL(flock)(fd, operation);
  if (result == 0) file_locked(fd, FileLockKind::kFlock, wanted);
  return result;
}

// --- Asynchronous input and output. The buffers are the kernel's and a hidden thread's until `aio_return`.

namespace {
template <class Block>
void starting_write(const Block* block, lane::Pc pc) {
  if (block->aio_nbytes != 0) lane::read(const_cast<const void*>(block->aio_buf), block->aio_nbytes, pc);
  starting_outside();
  before_sending(block->aio_fildes);
}
template <class Block>
void ended(const Block* block, bool success) {
  if (!success) return;
  after_receiving(block->aio_fildes);
}
}  // namespace
INTERPOSE(int, aio_write, aiocb* block) {
  starting_write(block, CALLER);
  return REAL(aio_write)(block);
}
INTERPOSE(int, aio_write64, aiocb64* block) {
  starting_write(block, CALLER);
  return REAL(aio_write64)(block);
}
INTERPOSE(int, aio_error, const aiocb* block) {
  int const result = REAL(aio_error)(block);
  ended(block, result == 0);
  return result;
}
INTERPOSE(int, aio_error64, const aiocb64* block) {
  int const result = REAL(aio_error64)(block);
  ended(block, result == 0);
  return result;
}
INTERPOSE(ssize_t, aio_return, aiocb* block) {
  ssize_t const result = REAL(aio_return)(block);
  ended(block, result >= 0);
  return result;
}
INTERPOSE(ssize_t, aio_return64, aiocb64* block) {
  ssize_t const result = REAL(aio_return64)(block);
  ended(block, result >= 0);
  return result;
}
