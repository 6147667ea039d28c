// DEADHEAT_OPTIONS: every run-time option of the runtime, in one table.
#pragma once

#include <stdint.h>

namespace deadheat::platform {

enum class Filter : uint8_t { kSpans, kTree, kNone };

// Of the monitor lane. Shares are in hundredths of a percent.
struct MonitorOptions {
  uint32_t sample = 10000;  // share of the time in which monitors are started
  uint32_t budget = 0;      // how much slower the program may become; 0: no limit, `sample` decides
  uint32_t cap = 10;        // monitors a place may start between two releases of a thread; 0: any number
  bool random = false;      // which of a place's executions these are is random
  bool trace =
      false;  // every start and stop of a monitor goes to the log: for finding out why a race is missed
  uint32_t period_ms = 100;  // mean time between the beginnings of two sampling windows
};

struct Options {
  const char* log =
      nullptr;  // raw findings go to LOG.<pid>; without it, to a `deadheat report-raw` started when needed
  const char* tool = nullptr;  // the deadheat program, if not where it was installed
  Filter filter = Filter::kSpans;
  bool count = false;      // count every access (slower): for statistics
  uint32_t exitcode = 66;  // of a program that is simply run and has findings; 0 keeps its own
  bool quiet = false;
  const char* record = nullptr;  // the folder of the recording (record lane)
  int arena = -1;  // the descriptor of the memory shared with its writer; without it, one is started
  MonitorOptions monitor;
};

// Before libc has set up its own `environ`: the environment as the kernel gave it.
void set_environment(char** environment);
char** environment();

// Parses DEADHEAT_OPTIONS once. Unknown keys and bad values end the program with one clear line (exit code
// 2).
const Options& parse_options();
extern const Options* parsed_options;
inline const Options& options() {
  const Options* const parsed = __atomic_load_n(&parsed_options, __ATOMIC_ACQUIRE);
  return __builtin_expect(parsed != nullptr, 1) ? *parsed : parse_options();
}

}  // namespace deadheat::platform
