// The hooks that are not hot, and the slow paths of those that are (src/runtime/monitor_abi.h).
#include "runtime/lane.h"
#include "runtime/monitor/table.h"
#include "runtime/monitor/thread.h"
#include "runtime/monitor_abi.h"
#include "runtime/platform/module_check.h"

using namespace deadheat;
using namespace deadheat::monitor;

void __dh_module_init(uint32_t abi_version, const char* mode) {
  platform::check_module(abi_version, DEADHEAT_ABI_VERSION, mode, "monitor");
  lane::initialise();
}

void __dh_monitor_start_slow(const void*, uint32_t) {}
void __dh_monitor_start_range(const void*, size_t, uint32_t) {}
void __dh_monitor_start_strided(const void*, size_t, int64_t, uint64_t, uint32_t) {}
void __dh_monitor_release_slow() {}
void __dh_monitor_keep(const void*, uint32_t) {}
void __dh_monitor_kept() {}
void __dh_monitor_calling_slow(const void*) {}
void __dh_monitor_returning_slow(const void*) {}
