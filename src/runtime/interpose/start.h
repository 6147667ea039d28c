// What each family does once, before the program's first constructor.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// Idempotent; called before the first constructor, on the main thread.
void start();

void start_threads();    // thread.cc
void start_processes();  // processes.cc
void start_signals();    // signals.cc
void start_exit();       // exit.cc

}  // namespace deadheat::interpose
