// What calls about processes, threads, users and the machine fill and read.
#include "runtime/interpose/results.h"

#include <execinfo.h>
#include <grp.h>
#include <mqueue.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <shadow.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace deadheat;
using namespace deadheat::interpose;

// --- The environment: whoever changes it must be ordered with whoever looks at it. It is one place.
TELLS(char*, getenv, (const char* name), (name), call.text(name) && call.reads(&environ), NOTHING)
TELLS(char*, secure_getenv, (const char* name), (name), call.text(name) && call.reads(&environ), NOTHING)
TELLS(int, setenv, (const char* name, const char* value, int anew), (name, value, anew),
      call.text(name) && call.text(value) && call.writes(&environ), NOTHING)
TELLS(int, unsetenv, (const char* name), (name), call.text(name) && call.writes(&environ), NOTHING)
TELLS(int, putenv, (char* text), (text), call.text(text) && call.writes(&environ), NOTHING)
TELLS(int, clearenv, (), (), call.writes(&environ), NOTHING)

// --- Limits, load, who and where
TELLS(int, getrlimit64, (int what, rlimit64* to), (what, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, setrlimit, (int what, const rlimit* from), (what, from), call.reads(from), NOTHING)
TELLS(int, setrlimit64, (int what, const rlimit64* from), (what, from), call.reads(from), NOTHING)
TELLS(int, prlimit, (pid_t process, int what, const rlimit* from, rlimit* to), (process, what, from, to),
      call.reads(from), result == 0 && call.writes(to))
TELLS(int, prlimit64, (pid_t process, int what, const rlimit64* from, rlimit64* to),
      (process, what, from, to), call.reads(from), result == 0 && call.writes(to))
TELLS(int, sysinfo, (struct sysinfo * to), (to), NOTHING, result == 0 && call.writes(to))
TELLS(int, getloadavg, (double* to, int count), (to, count), NOTHING,
      result > 0 && call.writes(to, static_cast<size_t>(result) * sizeof *to))
TELLS(int, getdomainname, (char* to, size_t room), (to, room), NOTHING,
      result == 0 && call.writes(to, length(to, room - 1) + 1))
TELLS(int, getlogin_r, (char* to, size_t room), (to, room), NOTHING, result == 0 && call.writes_text(to))
TELLS(int, getgroups, (int room, gid_t* to), (room, to), NOTHING,
      result > 0 && room != 0 && call.writes(to, static_cast<size_t>(result) * sizeof *to))
TELLS(int, setgroups, (size_t count, const gid_t* from), (count, from),
      call.reads(from, count * sizeof *from), NOTHING)
INTERPOSE(int, getgrouplist, const char* user, gid_t group, gid_t* to, int* count) {
  Call const call(CALLER);
  call.text(user) && call.reads(count);
  int const room = *count;
  int const result = REAL(getgrouplist)(user, group, to, count);
  int const found = *count < room ? *count : room;
  call.writes(count);
  if (found > 0) call.writes(to, static_cast<size_t>(found) * sizeof *to);
  return result;
}
TELLS(int, getresuid, (uid_t * real, uid_t* effective, uid_t* saved), (real, effective, saved), NOTHING,
      result == 0 && call.writes(real) && call.writes(effective) && call.writes(saved))
TELLS(int, getresgid, (gid_t * real, gid_t* effective, gid_t* saved), (real, effective, saved), NOTHING,
      result == 0 && call.writes(real) && call.writes(effective) && call.writes(saved))
TELLS(int, getcpu, (unsigned* processor, unsigned* node), (processor, node), NOTHING,
      result == 0 && call.writes(processor) && call.writes(node))
TELLS(int, backtrace, (void** to, int room), (to, room), NOTHING,
      result > 0 && call.writes(to, static_cast<size_t>(result) * sizeof *to))

// --- Users and groups. Of the buffer, the texts that the result names.
namespace {
bool writes_entry(const Call& call, passwd* to) {
  return call.writes(to) && call.writes_text(to->pw_name) && call.writes_text(to->pw_passwd) &&
         call.writes_text(to->pw_gecos) && call.writes_text(to->pw_dir) && call.writes_text(to->pw_shell);
}
bool writes_entry(const Call& call, group* to) {
  call.writes(to) && call.writes_text(to->gr_name) && call.writes_text(to->gr_passwd);
  char** member = to->gr_mem;
  for (; member != nullptr && *member != nullptr; ++member) call.writes(member) && call.writes_text(*member);
  return call.writes(member);
}
bool writes_entry(const Call& call, spwd* to) {
  return call.writes(to) && call.writes_text(to->sp_namp) && call.writes_text(to->sp_pwdp);
}
}  // namespace
#define ENTRY(name, Type, Key, reads)                                             \
  TELLS(int, name, (Key key, Type * to, char* buffer, size_t room, Type** found), \
        (key, to, buffer, room, found), reads, call.writes(found) && *found && writes_entry(call, to))
#define NEXT_ENTRY(name, Type)                                                                               \
  TELLS(int, name, (Type * to, char* buffer, size_t room, Type** found), (to, buffer, room, found), NOTHING, \
        call.writes(found) && *found && writes_entry(call, to))
ENTRY(getpwnam_r, passwd, const char*, call.text(key))
ENTRY(getpwuid_r, passwd, uid_t, NOTHING)
ENTRY(getgrnam_r, group, const char*, call.text(key))
ENTRY(getgrgid_r, group, gid_t, NOTHING)
ENTRY(getspnam_r, spwd, const char*, call.text(key))
NEXT_ENTRY(getpwent_r, passwd)
NEXT_ENTRY(getgrent_r, group)
NEXT_ENTRY(getspent_r, spwd)
// The result of these is one for all threads.
#define ONE_ENTRY(name, Type, Key, reads) \
  TELLS(Type*, name, (Key key), (key), reads, result&& writes_entry(call, result))
ONE_ENTRY(getpwnam, passwd, const char*, call.text(key))
ONE_ENTRY(getpwuid, passwd, uid_t, NOTHING)
ONE_ENTRY(getgrnam, group, const char*, call.text(key))
ONE_ENTRY(getgrgid, group, gid_t, NOTHING)

// --- Scheduling
TELLS(int, sched_getaffinity, (pid_t thread, size_t size, cpu_set_t* to), (thread, size, to), NOTHING,
      result == 0 && call.writes(to, size))
TELLS(int, sched_setaffinity, (pid_t thread, size_t size, const cpu_set_t* from), (thread, size, from),
      call.reads(from, size), NOTHING)
TELLS(int, sched_getparam, (pid_t thread, sched_param* to), (thread, to), NOTHING,
      result == 0 && call.writes(to))
TELLS(int, sched_setparam, (pid_t thread, const sched_param* from), (thread, from), call.reads(from), NOTHING)
TELLS(int, sched_setscheduler, (pid_t thread, int policy, const sched_param* from), (thread, policy, from),
      call.reads(from), NOTHING)
TELLS(int, sched_rr_get_interval, (pid_t thread, timespec* to), (thread, to), NOTHING,
      result == 0 && call.writes(to))
TELLS(int, pthread_getaffinity_np, (pthread_t thread, size_t size, cpu_set_t* to), (thread, size, to),
      NOTHING, result == 0 && call.writes(to, size))
TELLS(int, pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t* from),
      (thread, size, from), call.reads(from, size), NOTHING)
TELLS(int, pthread_getschedparam, (pthread_t thread, int* policy, sched_param* to), (thread, policy, to),
      NOTHING, result == 0 && call.writes(policy) && call.writes(to))
TELLS(int, pthread_setschedparam, (pthread_t thread, int policy, const sched_param* from),
      (thread, policy, from), call.reads(from), NOTHING)
TELLS(int, pthread_getcpuclockid, (pthread_t thread, clockid_t* to), (thread, to), NOTHING,
      result == 0 && call.writes(to))
TELLS(int, pthread_getname_np, (pthread_t thread, char* to, size_t room), (thread, to, room), NOTHING,
      result == 0 && call.writes_text(to))
TELLS(int, pthread_key_create, (pthread_key_t * to, void (*ends)(void*)), (to, ends), NOTHING,
      result == 0 && call.writes(to))
TELLS(int, pthread_setcancelstate, (int state, int* old), (state, old), NOTHING,
      result == 0 && call.writes(old))
TELLS(int, pthread_setcanceltype, (int type, int* old), (type, old), NOTHING, result == 0 && call.writes(old))

// --- Attributes: objects of the program's, made, read and changed. Left out is what the runtime itself asks
// of
//     threads (pthread_getattr_np, pthread_attr_destroy, sizes and places of stacks).
#define ATTRIBUTE_MADE(name, Type) TELLS(int, name, (Type * it), (it), call.writes(it), NOTHING)
#define ATTRIBUTE_GETS(name, Type, Value) \
  TELLS(int, name, (const Type* it, Value* to), (it, to), call.reads(it), result == 0 && call.writes(to))
#define ATTRIBUTE_SETS(name, Type, Value) \
  TELLS(int, name, (Type * it, Value value), (it, value), call.reads_and_writes(it), NOTHING)
ATTRIBUTE_MADE(pthread_attr_init, pthread_attr_t)
ATTRIBUTE_MADE(pthread_mutexattr_init, pthread_mutexattr_t)
ATTRIBUTE_MADE(pthread_mutexattr_destroy, pthread_mutexattr_t)
ATTRIBUTE_MADE(pthread_condattr_init, pthread_condattr_t)
ATTRIBUTE_MADE(pthread_condattr_destroy, pthread_condattr_t)
ATTRIBUTE_MADE(pthread_rwlockattr_init, pthread_rwlockattr_t)
ATTRIBUTE_MADE(pthread_rwlockattr_destroy, pthread_rwlockattr_t)
ATTRIBUTE_MADE(pthread_barrierattr_init, pthread_barrierattr_t)
ATTRIBUTE_MADE(pthread_barrierattr_destroy, pthread_barrierattr_t)
ATTRIBUTE_GETS(pthread_attr_getguardsize, pthread_attr_t, size_t)
ATTRIBUTE_GETS(pthread_attr_getinheritsched, pthread_attr_t, int)
ATTRIBUTE_GETS(pthread_attr_getschedparam, pthread_attr_t, sched_param)
ATTRIBUTE_GETS(pthread_attr_getschedpolicy, pthread_attr_t, int)
ATTRIBUTE_GETS(pthread_attr_getscope, pthread_attr_t, int)
ATTRIBUTE_SETS(pthread_attr_setdetachstate, pthread_attr_t, int)
ATTRIBUTE_SETS(pthread_attr_setguardsize, pthread_attr_t, size_t)
ATTRIBUTE_SETS(pthread_attr_setinheritsched, pthread_attr_t, int)
ATTRIBUTE_SETS(pthread_attr_setschedpolicy, pthread_attr_t, int)
ATTRIBUTE_SETS(pthread_attr_setscope, pthread_attr_t, int)
TELLS(int, pthread_attr_setschedparam, (pthread_attr_t * it, const sched_param* from), (it, from),
      call.reads_and_writes(it) && call.reads(from), NOTHING)
TELLS(int, pthread_attr_setstack, (pthread_attr_t * it, void* stack, size_t size), (it, stack, size),
      call.reads_and_writes(it), NOTHING)
ATTRIBUTE_GETS(pthread_mutexattr_gettype, pthread_mutexattr_t, int)
ATTRIBUTE_GETS(pthread_mutexattr_getrobust, pthread_mutexattr_t, int)
ATTRIBUTE_GETS(pthread_mutexattr_getprotocol, pthread_mutexattr_t, int)
ATTRIBUTE_GETS(pthread_mutexattr_getpshared, pthread_mutexattr_t, int)
ATTRIBUTE_SETS(pthread_mutexattr_settype, pthread_mutexattr_t, int)
ATTRIBUTE_SETS(pthread_mutexattr_setrobust, pthread_mutexattr_t, int)
ATTRIBUTE_SETS(pthread_mutexattr_setprotocol, pthread_mutexattr_t, int)
ATTRIBUTE_SETS(pthread_mutexattr_setpshared, pthread_mutexattr_t, int)
ATTRIBUTE_GETS(pthread_condattr_getclock, pthread_condattr_t, clockid_t)
ATTRIBUTE_SETS(pthread_condattr_setclock, pthread_condattr_t, clockid_t)
ATTRIBUTE_GETS(pthread_condattr_getpshared, pthread_condattr_t, int)
ATTRIBUTE_SETS(pthread_condattr_setpshared, pthread_condattr_t, int)
ATTRIBUTE_GETS(pthread_rwlockattr_getkind_np, pthread_rwlockattr_t, int)
ATTRIBUTE_SETS(pthread_rwlockattr_setkind_np, pthread_rwlockattr_t, int)
ATTRIBUTE_GETS(pthread_rwlockattr_getpshared, pthread_rwlockattr_t, int)
ATTRIBUTE_SETS(pthread_rwlockattr_setpshared, pthread_rwlockattr_t, int)
ATTRIBUTE_GETS(pthread_barrierattr_getpshared, pthread_barrierattr_t, int)
ATTRIBUTE_SETS(pthread_barrierattr_setpshared, pthread_barrierattr_t, int)

// --- Signals. The kernel's sets are of 8 bytes, the rest of the place is not touched. What makes a set in
// memory is left out: a replay knows what those calls do (replay/live/history.h), and sets are seldom shared.
TELLS(int, sigpending, (sigset_t * to), (to), NOTHING, result == 0 && call.writes(to, 8))
TELLS(int, sigaltstack, (const stack_t* from, stack_t* old), (from, old), call.reads(from),
      result == 0 && call.writes(old))

// --- Queues and shared memory of the kernel
TELLS(int, mq_getattr, (mqd_t queue, mq_attr* to), (queue, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, mq_setattr, (mqd_t queue, const mq_attr* from, mq_attr* old), (queue, from, old), call.reads(from),
      result == 0 && call.writes(old))
TELLS(int, msgctl, (int queue, int command, msqid_ds* it), (queue, command, it),
      command == IPC_SET && call.reads(it), result != -1 && command == IPC_STAT && call.writes(it))
TELLS(int, shmctl, (int memory, int command, shmid_ds* it), (memory, command, it),
      command == IPC_SET && call.reads(it), result != -1 && command == IPC_STAT && call.writes(it))

// --- Another process's memory, this one's at the one end
namespace {
// The first `size` bytes of them.
bool pieces(const Call& call, const iovec* parts, unsigned long count, ssize_t size, bool writes) {
  for (unsigned long i = 0; i < count && size > 0; ++i) {
    size_t const part =
        parts[i].iov_len < static_cast<size_t>(size) ? parts[i].iov_len : static_cast<size_t>(size);
    if (writes) {
      call.writes(parts[i].iov_base, part);
    } else {
      call.reads(parts[i].iov_base, part);
    }
    size -= static_cast<ssize_t>(part);
  }
  return true;
}
}  // namespace
TELLS(ssize_t, process_vm_readv,
      (pid_t process, const iovec* to, unsigned long to_count, const iovec* from, unsigned long from_count,
       unsigned long flags),
      (process, to, to_count, from, from_count, flags),
      call.reads(to, to_count * sizeof *to) && call.reads(from, from_count * sizeof *from),
      pieces(call, to, to_count, result, true))
TELLS(ssize_t, process_vm_writev,
      (pid_t process, const iovec* from, unsigned long from_count, const iovec* to, unsigned long to_count,
       unsigned long flags),
      (process, from, from_count, to, to_count, flags),
      call.reads(to, to_count * sizeof *to) && call.reads(from, from_count * sizeof *from),
      pieces(call, from, from_count, result, false))
