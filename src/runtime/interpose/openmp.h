// OpenMP: what the callbacks of libomp's tool interface and the interposed entry points share.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose::openmp {

// A parallel region. Its fields are objects to release to and acquire from.
struct Parallel {
  char begin;       // what was done before the region
  char join;        // what its threads and tasks did
  char round[2];    // barriers, taking turns
  char ordered;     // ordered blocks of its loops
  char doacross;    // iterations that wait for each other
  char shares;      // what its threads bring to a reduction of their tasks
  uint32_t owners;  // the region itself, and its implicit tasks
};

// The innermost region this thread works in; null outside of all that are known.
Parallel* current_parallel();

// This thread is at the end of a reduction that all threads of a region have tasks for.
extern __thread bool brings_tasks_shares __attribute__((visibility("hidden"), tls_model("initial-exec")));

}  // namespace deadheat::interpose::openmp
