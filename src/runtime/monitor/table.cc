#include "runtime/monitor/table.h"

namespace deadheat::monitor {

void begin_span(Thread* thread) { thread->hot->limit = 0; }
void stop_all(Thread*) {}

}  // namespace deadheat::monitor
