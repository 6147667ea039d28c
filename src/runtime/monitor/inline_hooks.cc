// The bodies of the monitor lane's hot hooks. Compiled twice, as src/runtime/inline_hooks.cc is: into the
// runtime, and to bitcode that the compiler plugin inlines. May use nothing but monitor_abi.h.
#include "runtime/monitor_abi.h"

void __dh_monitor_start(const void* address, uint32_t what) {
  if (__dh_monitor_hot.used[what & kDhMonitorPlaceMask] >= __dh_monitor_gate) return;
  __dh_monitor_start_slow(address, what);
}

void __dh_monitor_keep(const void* address, uint32_t what) {
  if (__dh_monitor_hot.used[what & kDhMonitorPlaceMask] >= __dh_monitor_gate) return;
  __dh_monitor_keep_slow(address, what);
}

void __dh_monitor_release() {
  if (__builtin_expect(__dh_monitor_hot.active != 0, 0)) __dh_monitor_release_slow();
}

void __dh_monitor_calling(const void* function) {
  if (__builtin_expect(__dh_monitor_hot.active != 0, 0)) __dh_monitor_calling_slow(function);
}

void __dh_monitor_calling_known(const void* function) {
  if (__builtin_expect(__dh_monitor_hot.active != 0, 0)) __dh_monitor_calling_known_slow(function);
}

void __dh_monitor_returning(const void* return_address) {
  if (__builtin_expect(__dh_monitor_hot.active != 0, 0)) __dh_monitor_returning_slow(return_address);
}

void __dh_monitor_release_ahead() {
  if (__builtin_expect(__dh_monitor_hot.active != 0, 0)) __dh_monitor_release_ahead_slow();
}

void __dh_monitor_ahead() {
  if (__builtin_expect(__dh_monitor_hot.active != 0, 0)) __dh_monitor_hot.kept |= kDhMonitorAhead;
}

void __dh_monitor_kept() {
  if (__builtin_expect(__dh_monitor_hot.kept != 0, 0)) __dh_monitor_kept_slow();
}
