// The way up the stack, without frame pointers.
//
// Every monitor that becomes active writes down the stack it was started from, so walking has to be quick;
// and nothing may be asked of the program for it while no monitor is active, which is most of the time. Frame
// pointers fail the second: a register less and two instructions more in every function are the larger part
// of what a closed gate costs. So the way up is taken from the unwind tables (.eh_frame), which every x86-64
// program has and never runs, and what they say of a return address is interpreted once:
//
//   rule of a return address:  the frame ends at  rsp + n  or  rbp + n;  the caller's rbp is at  end - m,  or
//                              was not touched;  the return address is at  end - 8
//
// in one word of a table of 4096, read with one load and written with one store (35 bits of it say which
// address it is for; which word it is says the rest, so that no other address is taken for it). A step is
// then a load of the rule, an addition, and two loads from the stack.
//
// What the tables do not say (code without them, frames described by expressions, signal frames) is guessed
// to have a frame pointer: functions built without tables are made to keep theirs
// (src/instrument/monitor_pass.cc). A guess that leads nowhere, or an end that does not lie further up this
// thread's stack, ends the walk.
//
// Code that is unloaded takes its rules along only as far as nothing else comes to lie there; a wrong rule
// makes a wrong frame in a report, never a report. Tested by tests/unwind_test.cc against the compiler's own
// unwinder.
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

// Where a function was called from: its return address, and its caller's registers at that moment.
struct Caller {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t bp;
};

// Of a function that has a frame pointer, given that (__builtin_frame_address(0)).
inline Caller caller_of(const void* frame) {
  const auto* const words = static_cast<const uintptr_t*>(frame);
  return {words[1], reinterpret_cast<uintptr_t>(words + 2), words[0]};
}

// Return addresses from `from` up, `from.pc` first; how many.
unsigned walk(Caller from, uintptr_t stack_high, uintptr_t* pcs, unsigned max);

// Where the function that holds `address` begins, or 0.
uintptr_t function_around(uintptr_t address);

}  // namespace deadheat::monitor
