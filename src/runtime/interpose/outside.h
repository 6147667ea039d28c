// Order that leaves the program and comes back.
//
// A thread starts something outside: a child process, a timer. That something may tell another thread of this
// program: by bytes in a pipe, by a signal, by its end. What the first one did before is then ordered before
// what the second does after. Which of the things started outside was heard is not to be known, so they are
// one object: starting releases to it, and whatever may come from outside acquires from it. Where several of
// them are under way that is more order than there is: a race may be missed, none is invented. A program that
// starts nothing outside is not concerned.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// Before the call that starts something.
void starting_outside();
// The same of a process, which goes on hearing of this one until it has been waited for: by bytes, by the end
// of a stream, by signals.
void child_starting();
void child_has_ended();
// Before something that they may hear.
void children_may_hear();
// After a call that may have heard of it.
void heard_from_outside();

// The program has asked for signals when something is sent (O_ASYNC, mq_notify). From then on all that is
// sent may be heard of like what comes from outside.
void signals_tell_of_sending();
// Before anything is sent.
void sending_may_signal();

// The kernel's locks of open files: flock(2), and fcntl(2) with F_OFD_SETLK. Before a descriptor is closed,
// and around a call for a lock.
enum class FileLock : uint8_t { kNone, kShared, kExclusive };
enum class FileLockKind : uint8_t { kFlock, kDescription };
void file_locking(int fd, FileLockKind kind, FileLock wanted);
void file_locked(int fd, FileLockKind kind, FileLock wanted);
void closing_lockable(int fd);
void file_locks_fork_prepare();
void file_locks_fork_done();

}  // namespace deadheat::interpose
