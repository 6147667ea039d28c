// A read followed in its block by a write of the same bytes is checked as the write.
//
// `counter++` reads and writes; whatever races with the read races with the write. Exact, because between the
// two nothing acquires, releases, or may keep the write from happening. Let b be another thread's write that
// races with the read r, and w the write after r. If w happened before b, so did r, which is before w: then r
// and b do not race. If b happened before w but not before r, the thread acquired something between r and w:
// excluded. So b races with w, and w is checked.
//
// ThreadSanitizer does the same between calls. Cost: one pass over each block. Tested by
// read_before_write_test.cc.
#pragma once

#include "instrument/function_view.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

void remove_reads_before_writes(const FunctionView& view, Statistics& statistics);

}  // namespace deadheat::instrument
