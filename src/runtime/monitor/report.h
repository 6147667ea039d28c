// What the monitor lane writes to the raw log: each race when it is found, what was done at the end.
#pragma once

#include "runtime/monitor/thread.h"

namespace deadheat::monitor {

// What was seen of another thread.
struct Sighting {
  Thread* thread;
  uint32_t number;
  uint32_t id;
  uint32_t interruptions;  // read before the monitor was found active
  MonitorCopy access;
};
inline uint32_t interruptions_of(const Thread& thread) {
  return __atomic_load_n(&thread.interruptions, __ATOMIC_ACQUIRE);
}

// Two monitors overlap. That the accesses race is certain, but for one thing: that they are made. A monitor
// starts where its access is certain as far as the program goes, and then the thread is cancelled, or another
// one ends the process, in the middle of a long loop. So a race waits here until both threads have made their
// accesses, as they tell by `made`. A race whose thread never gets there is never told.
void report_race(Thread* thread, const MonitorCopy& own, const Sighting& other);

// The calling thread has made all accesses that it had monitors for.
void made_all(Thread* thread);
// It comes by this place again: those of prompt monitors that started here.
void made_prompt(Thread* thread, uintptr_t pc);
// What it was to do is no longer certain: a signal's handler runs, which may jump away.
void made_nothing(Thread* thread);
// The same, and nobody waits for it any more: it ends.
void ends_without(Thread* thread);

// For slow paths of releases and calls: what lies before them has been made, unless the release says that
// something is still ahead.
inline void passing(Thread* thread) {
  if (__builtin_expect(__atomic_load_n(&thread->waiting, __ATOMIC_RELAXED) == 0, 1)) return;
  if ((thread->hot->kept & kDhMonitorAhead) == 0)
    made_all(thread);
  else
    thread->hot->active |= kDhMonitorWaits;
}
// Monitors end without anything being made: whatever waits for this thread goes on waiting.
inline void stopping_early(Thread* thread) {
  if (__builtin_expect(__atomic_load_n(&thread->waiting, __ATOMIC_RELAXED) != 0, 0))
    thread->hot->active |= kDhMonitorWaits;
}
inline void coming_by(Thread* thread, uintptr_t pc) {
  if (__builtin_expect(__atomic_load_n(&thread->waiting, __ATOMIC_RELAXED) != 0, 0)) made_prompt(thread, pc);
}

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
