// Parts of signal handling that other families use.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// The object through which sending `signal` is ordered before its handler, or before a wait for it that
// returns.
const void* signal_object(int signal);
// Whoever sent it, from inside or outside, comes before.
void received_signal(int signal);

// This thread is about to go on somewhere else: if that is done by handlers of faults, they do not return.
void leave_handlers_of_faults();

// Around fork.
void signals_fork_prepare();
void signals_fork_done();

}  // namespace deadheat::interpose
