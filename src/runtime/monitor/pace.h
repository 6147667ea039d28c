// When monitors are started: never while one thread runs alone; else always, for a share of the time
// (`sample`), or as much as a budget allows (`budget`).
//
// Sampling is by periods, as in the paper: in a window of every period all monitors are started, outside it
// none. Monitors of one window see each other; spread thinly over all time they would not. A period's length
// is drawn at random around its mean, so that windows do not march in step with what the program does.
//
// Ticks. The paper lets a place have ten monitors at a time. That does not bound how many it starts: a loop
// that takes a lock starts and stops them in every iteration. So here a place may start so many (the cap) per
// thread and tick of two milliseconds. A tick begins for all threads at once, and with it the ten monitors of
// every place: where threads do the same thing at the same time, which is where races are, their monitors
// meet.
//
// Budget: budget.h.
//
// Windows and ticks are made by a thread of the runtime's own, which exists while there is more than one
// thread and a little longer, unless everything is to be monitored all the time. It is made by clone(2)
// directly: libc does not know it, so that it neither counts among the program's threads nor keeps the
// process alive; it blocks all signals, allocates nothing and touches no thread-local memory.
#pragma once

#include <stdint.h>

#include "runtime/monitor/thread.h"

namespace deadheat::monitor {

struct Pace {
  uint64_t windows;
  uint64_t open_us;
};
Pace current_pace();

// So many threads live now. With one, nothing is monitored.
void pace_threads(uint32_t live);

// Ends the helper thread and waits until it is gone, if the program has one thread: for what the kernel does
// for processes of one thread only.
void pace_end_helper();

// May this place start one more monitor in this tick? Counts it. The inlined part has asked already.
bool may_start(Thread* thread, uint32_t place);

// Is the cost of slow paths to be counted?
extern bool pace_measures;
inline uint64_t pace_clock() { return __builtin_ia32_rdtsc(); }
// Cycles spent in slow paths, by all threads.
void pace_spent(uint64_t cycles);

// Counts what a slow path costs, if somebody wants to know.
class Cost {
 public:
  explicit Cost(Thread* thread) : thread_(thread), began_(pace_measures ? pace_clock() : 0) {}
  ~Cost() {
    if (__builtin_expect(began_ != 0, 0)) count();
  }
  Cost(const Cost&) = delete;
  Cost& operator=(const Cost&) = delete;

 private:
  void count();
  Thread* thread_;
  uint64_t began_;
};

void pace_fork_preparing();
void pace_fork_parent();
void pace_fork_child();

}  // namespace deadheat::monitor
