// Telling a race: gathers what both sides were doing and writes one line of raw findings.
#pragma once

#include "runtime/watch/access.h"

namespace deadheat::watch {

// `request` is the access being made now by `thread`; `other` is the record it races with.
void report_race(Thread* thread, const AccessRequest& request, const Record& other, uintptr_t granule);

uint64_t races_reported();
void write_end(int status);
void report_fork_preparing();
void report_fork_parent();
void report_fork_child();

// A race on these bytes is benign: the program says so.
void expect_benign(uintptr_t address, size_t size);

}  // namespace deadheat::watch
