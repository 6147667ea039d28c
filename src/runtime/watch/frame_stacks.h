// Shadow call stacks, one for each stack that the program runs on: those of its threads and, where it
// switches stacks itself (makecontext), those of its contexts.
//
// A function's frame in the shadow stack is found again by its address when the function ends
// (__dh_leave). So it has to belong to the stack that the function runs on, and not to the thread, which may
// be another one by then. Which of them goes on is decided by the stack pointer that is switched to: it lies
// within one of the stacks that are known. Order is not concerned: what a context does, the thread does that
// runs it, and who hands one to another thread has to synchronise, as for all that it shares.
//
// A stack is known from makecontext on (a thread's: from its first switch on) until its function has
// returned, its memory is freed or another one is made there. Where several are left that contain the address
// (a stack inside of another one, or one of which nobody said that it is over), it is the one that was
// switched away from just there.
//
// Switches that are not seen (a coroutine library's own assembly) leave frames of several stacks in one
// shadow stack, and stacks in reports are wrong then. So that nothing worse happens, the memory of a shadow
// stack stays one: it is used again, never given back.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/abi.h"

namespace deadheat::watch {

struct Thread;

struct FrameStack {
  DhFrame* frames;  // the first one that is used; there is one more before it, which is nobody's
  DhFrame* end;
  size_t bytes;
  DhFrame* next;      // while it is not run: its first free frame
  uintptr_t left_at;  // the stack pointer that it was left with
  bool is_run;
  bool is_home;  // a thread's own

  // Where the program's stack is; 0 and 0 if that is not known.
  uintptr_t low;
  uintptr_t high;
  struct Link {
    FrameStack* stack;
    Link* next;
  } links[2];
};

// For a stack of this size; null if memory is short.
FrameStack* frame_stack_make(size_t stack_bytes);
void frame_stack_free(FrameStack* stack);

// A context is made there, and will begin with the stack pointer `at`.
void frame_stack_begin(uintptr_t low, size_t size, uintptr_t at);
// The thread leaves the stack it is on, where the stack pointer is `from`, and goes on at `to`. `is_over`:
// nobody will come back.
void frame_stack_switch(Thread* thread, uintptr_t from, uintptr_t to, bool is_over);

// The memory is free, or something else from now on.
void frame_stacks_end_in_some(uintptr_t low, size_t size);
extern uint32_t known_frame_stacks;
inline void frame_stacks_end_in(uintptr_t low, size_t size) {
  if (__builtin_expect(__atomic_load_n(&known_frame_stacks, __ATOMIC_RELAXED) != 0, 0))
    frame_stacks_end_in_some(low, size);
}

}  // namespace deadheat::watch
