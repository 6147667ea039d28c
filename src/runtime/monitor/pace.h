// When monitors are started: never while one thread runs alone; else always, for a share of the time (`sample`), or as
// much as a budget allows (`budget`).
//
// Sampling is by periods, as in the paper: in a window of every period all monitors are started, outside it none. Monitors
// of one window see each other; spread thinly over all time they would not. A period's length is drawn at random around
// its mean, so that windows do not march in step with what the program does.
//
// Budget. Time is lost in three ways: in the runtime's slow paths, whose cycles are counted while a budget is set; in
// the inlined code behind an open gate, which nobody counts, and for which a fixed share of the open time is assumed
// (kInlineShare); and in looks at a closed gate, which nothing can avoid (kClosedShare). After every window the share of
// the time that may be open is set so that the sum stays within the budget:
//
//   open share = (budget - kClosedShare) / (slow cycles per open cycle and running thread + kInlineShare)
//
// smoothed over the last windows. Both constants were measured (docs/monitor.md).
//
// Windows are opened and closed by a thread of the runtime's own, which exists while there is more than one thread and
// sampling or a budget is asked for. It is made by clone(2) directly: libc does not know it, so that it neither counts
// among the program's threads nor keeps the process alive; it blocks all signals, allocates nothing and touches no
// thread-local memory.
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

struct Pace {
  uint64_t windows;
  uint64_t open_us;
};
Pace current_pace();

// So many threads live now. With one, nothing is monitored.
void pace_threads(uint32_t live);

// Is the cost of slow paths to be counted?
extern bool pace_measures;
inline uint64_t pace_clock() { return __builtin_ia32_rdtsc(); }
// Cycles spent in slow paths, by all threads.
void pace_spent(uint64_t cycles);

void pace_fork_preparing();
void pace_fork_parent();
void pace_fork_child();

}  // namespace deadheat::monitor
