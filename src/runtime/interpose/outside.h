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
// After a call that may have heard of it.
void heard_from_outside();

// The kernel's locks of open files: flock(2), and fcntl(2) with F_OFD_SETLK. Before a lock is given up, or a
// descriptor closed; after a lock was taken.
void file_unlocking();
void file_locked();
void closing_lockable();

}  // namespace deadheat::interpose
