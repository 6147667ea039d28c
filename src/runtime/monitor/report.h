// What the monitor lane writes to the raw log.
#pragma once

#include "runtime/monitor/thread.h"

namespace deadheat::monitor {

uint64_t races_reported();
void write_end(int status);
void expect_benign(uintptr_t address, size_t size);
void report_fork_preparing();
void report_fork_parent();
void report_fork_child();

}  // namespace deadheat::monitor
