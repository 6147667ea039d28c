// Ending the process with the lane's exit code.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

// The lane's answer to `status`, asked for once per process. Another thread that asks meanwhile waits for the
// answer. In the child of a vfork, which lives in its parent's memory, nothing is asked and `status` comes
// back.
int finish_once(int status);

// True in the child of a vfork (or any clone that shares our memory): what belongs to the process must not be
// touched.
bool borrowed_process();

// In the child of a fork.
void exit_fork_child();

}  // namespace deadheat::interpose
