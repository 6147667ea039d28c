// The memory shared with the writer, and the slots of it that threads record into.
#pragma once

#include "runtime/record/stream.h"

namespace deadheat::record {

// Maps the arena and takes the first slot for the calling thread. False, with a line on standard error, if
// that cannot be done: then nothing is recorded.
bool attach(int descriptor);

// Starts a writer of our own for a program that is simply run, recording into `folder`. The arena's
// descriptor, or -1 with a line on standard error.
int start_writer(const char* tool, const char* folder);

// Makes `discard` usable; before anything else.
void prepare_discard();

// A slot for a new thread; &discard if there is none to have.
DhRecord* take_slot(uint32_t thread);
// The thread's stream has ended; the writer frees the slot once it has read it.
void leave_slot(DhRecord* record);

// In the child of a fork: the record is its own from now on, in the state that it has, and leads nowhere.
DhRecord* detached(DhRecord* record);

void arena_fork_preparing();
void arena_fork_done();

}  // namespace deadheat::record
