// The table of active monitors.
#pragma once

#include "runtime/monitor/thread.h"

namespace deadheat::monitor {

// A new span of the thread begins: every place may start monitors again.
void begin_span(Thread* thread);
// The thread is about to release: its monitors end, but for those that were kept.
void stop_all(Thread* thread);

}  // namespace deadheat::monitor
