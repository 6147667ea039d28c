// The calling thread's signal mask, as the kernel has it: glibc's own signals (cancelling among them) can be
// blocked, too.
#pragma once

#include <signal.h>
#include <stdint.h>

#include "runtime/platform/syscalls.h"

namespace deadheat::platform {

inline void set_signal_mask(uint64_t mask) {
  syscall6(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask);
}
inline void block_all_signals(uint64_t* old_mask) {
  uint64_t const all = ~uint64_t{0};
  syscall6(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all), reinterpret_cast<long>(old_mask),
           sizeof all);
}

}  // namespace deadheat::platform
