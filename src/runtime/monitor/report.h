// What the monitor lane writes to the raw log: each race when it is found, what was done at the end.
#pragma once

#include "runtime/monitor/thread.h"

namespace deadheat::monitor {

// `other` belongs to the live thread of this number.
void report_race(Thread* thread, const MonitorCopy& own, uint32_t number, const MonitorCopy& other);

// With `trace`: a monitor became active, or ended (because of what `thread->stopped_at` called).
void trace_monitor(const Thread* thread, const char* what, AccessType type, uintptr_t address, uint64_t size,
                   uintptr_t pc);

uint64_t races_reported();
void write_end(int status);
void expect_benign(uintptr_t address, size_t size);
void report_fork_preparing();
void report_fork_parent();
void report_fork_child();

}  // namespace deadheat::monitor
