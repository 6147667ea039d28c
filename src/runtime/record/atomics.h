// What the runtime holds while it does an atomic operation for the program.
#pragma once

namespace deadheat::record {

// The operation that this thread is in the middle of has faulted, and the program's handler runs: it may have
// atomics of its own, and need not return. Null if there is none.
void* let_go_of_location();
// It has returned.
void hold_location_again(void* held);

}  // namespace deadheat::record
