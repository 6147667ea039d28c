// Starting a thread, for pthread_create and thrd_create alike.
#pragma once

#include "runtime/interpose/interpose.h"
#include "runtime/platform/signal_mask.h"

namespace deadheat::interpose {

// What the parent hands to the child. Lives on the parent's stack: the parent waits until the child has been
// introduced to the lane, so that a join that follows at once finds it.
//
// The place of the new thread's handle is written by the parent. C and C++ order that before the thread
// ("the completion of thrd_create", "of the constructor"); POSIX does not ("no requirement that the ID be
// available before the thread starts executing"), so a thread that looks for its own handle there races.
struct Launch {
  void* (*routine)(void*);    // pthreads
  int (*c11_routine)(void*);  // C11
  void* argument;
  pthread_t* handle;
  bool handle_ordered;
  lane::ThreadStart* start;
  uint64_t signal_mask;  // the mask to start the routine with
  bool restore_mask;
  bool detached;
  uint32_t introduced;  // a futex
};

// In the parent: blocks all signals, calls `create`, which starts a thread that calls `thread_entered`, and
// waits for it. Returns create's result; `success` is what it returns when there is a thread.
template <class Create>
int launch(Launch& launch, lane::Pc pc, int success, Create create);

using platform::block_all_signals;
using platform::set_signal_mask;
void wait_until_introduced(Launch& launch);
// In the child: introduces it. `launch` is gone when this returns.
void thread_entered(Launch* launch);

// What is there after a call that failed is not defined: written, too.
inline void writes_handle(const Launch& launch, lane::Pc pc) {
  if (launch.handle != nullptr) lane::write(launch.handle, sizeof *launch.handle, pc);
}

template <class Create>
int launch(Launch& launch, lane::Pc pc, int success, Create create) {
  if (launch.handle_ordered) writes_handle(launch, pc);
  launch.start = lane::thread_creating(pc);
  if (!launch.handle_ordered) writes_handle(launch, pc);
  block_all_signals(&launch.signal_mask);
  int const result = create();
  if (result == success) {
    wait_until_introduced(launch);
  } else {
    lane::thread_create_failed(launch.start);
  }
  set_signal_mask(launch.signal_mask);
  return result;
}

// In pthread_create, once per call: is it the C++ library that starts a std::thread, whose handle this is?
bool starts_cxx_thread(const void* handle, lane::Pc caller);

// Makes sure that thread_finishing() is called when this thread ends.
void arm_thread_finish();

}  // namespace deadheat::interpose
