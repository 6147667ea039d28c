// pthread_once and call_once: the routine's end is ordered before every return.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// The routine that the next call of `run_once_routine` on this thread runs. Set right before the real call;
// read by the routine first thing, so calls may nest.
struct PendingOnce {
  const void* control;
  void (*routine)();
};
extern __thread PendingOnce pending_once __attribute__((visibility("hidden"), tls_model("initial-exec")));
void run_once_routine();

}  // namespace deadheat::interpose
