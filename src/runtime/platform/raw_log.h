// Where raw findings go: one JSON object a line, each written with one system call as soon as it is known, so
// that a crash or a kill loses nothing that was found. src/report/raw.h is the reader.
#pragma once

#include "runtime/platform/print.h"

namespace deadheat::platform {

// The lane, as the log's first line names it. Said before anything is written.
void raw_log_is_of(const char* lane);
// What the program itself wants to be suppressed: __tsan_default_suppressions, if it has one. Before anything
// is written, and once its functions can be called.
void raw_log_ask_for_suppressions();
// Opens the log (a file, or a reporter beside the program) on the first call. All calls are made under one
// lock.
void raw_write(Text& line);
// A line for each module that was loaded since the last call.
void raw_write_modules();
bool raw_has_modules();
// Ends it: waits for the reporter, if there is one. False if that had nothing to tell.
bool raw_log_finish();
void raw_log_fork_child();

}  // namespace deadheat::platform
