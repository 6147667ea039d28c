// The frames between an interposed call and the program's own code, where a library that is not instrumented
// made the call.
//
// The shadow call stack has a frame for each instrumented function, and that says where the function was
// called from. If the innermost one, f, calls a library, and the library calls memcpy, then the access is at
// an address in the library, and the next thing known is where f was called from: the line in f, the very one
// that a person looks for, is missing. The machine's stack has it, and unwind tables say where; but walking
// them costs microseconds, and such calls are as frequent as accesses.
//
// What unwinding finds is remembered: for a call from this place in the library, made while that function is
// the innermost, how far up the stack the return addresses are, and which ones those inside the library are.
// The next time, it is enough to look there: if the addresses in the library and the function's own return
// address are where they were the last time, so is the one in between, which may be another one now. Frames
// of different shape (alloca) do not match, and are unwound again.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// A module whose code is instrumented, by an address in it.
void note_instrumented(uintptr_t address);
// Has none of the program's code been compiled with hooks?
bool nothing_is_instrumented();
// Also true where too many modules are instrumented to know them all.
bool is_instrumented(uintptr_t address);
// True for ever once it is, and for code that was seen to be.
bool is_known_as_instrumented(uintptr_t address);

// For its life, the shadow call stack has the frames of the library that called from `pc`.
// REQUIRES: the thread is inside the runtime.
class LibraryFrames {
 public:
  // `frame`: __builtin_frame_address(0) of a function that the interposer called, `from` its return address.
  __attribute__((always_inline)) LibraryFrames(Thread* thread, uintptr_t pc, const void* frame,
                                               const void* from)
      : hot_(thread->hot), before_(hot_->next_frame) {
    if (__builtin_expect(!is_instrumented(pc), 0)) push(thread, pc, frame, from);
  }
  ~LibraryFrames() { hot_->next_frame = before_; }
  LibraryFrames(const LibraryFrames&) = delete;
  LibraryFrames& operator=(const LibraryFrames&) = delete;

 private:
  static void push(Thread* thread, uintptr_t pc, const void* frame, const void* from);

  DhHot* hot_;
  DhFrame* before_;
};
#define DEADHEAT_LIBRARY_FRAMES(name, thread, pc) \
  LibraryFrames const name((thread), (pc).value, __builtin_frame_address(0), __builtin_return_address(0))

}  // namespace deadheat::watch
