// Work that needs more stack than the program may have left, on a stack of the runtime's.
//
// A report takes some 20 KiB: it reads the list of modules, formats text, starts a process. The program need
// not have them: handlers run on stacks of 2 KiB (sigaltstack), threads and coroutines on 16 KiB. So whoever
// is about to report, or to unwind, does so here.
//
// Signals are blocked meanwhile. The kernel decides by the stack pointer whether a thread is on its alternate
// stack; while it is elsewhere, the next handler would begin at that stack's top, over the frames of the
// handler that the work is done for.
//
// Stacks are taken from a few that all threads share, each mapped when it is first needed, so that a thread
// costs nothing and two that unwind do not wait for each other (one of them may hold the loader's lock). No
// lock is taken: fork(2) may come at any time. If all are taken, the work is done where the caller stands.
#pragma once

#include <stdint.h>

namespace deadheat::platform {

// Calls work(argument) with the stack pointer at `top`, a multiple of 16. Unwinding finds the way back.
void call_on_stack(uintptr_t top, void (*work)(void*), void* argument);

// Calls work(argument). Nested calls stay on the stack they are on. `work` must return.
void on_own_stack(void (*work)(void*), void* argument);

template <class Work>
void on_own_stack(Work work) {
  on_own_stack([](void* w) { (*static_cast<Work*>(w))(); }, &work);
}

}  // namespace deadheat::platform
