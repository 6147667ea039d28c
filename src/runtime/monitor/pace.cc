#include "runtime/monitor/pace.h"

#include "runtime/monitor_abi.h"

uint32_t __dh_monitor_gate;

namespace deadheat::monitor {

void pace_threads(uint32_t live) {
  __atomic_store_n(&__dh_monitor_gate, live > 1 ? 1u : 0u, __ATOMIC_RELAXED);
}

}  // namespace deadheat::monitor
