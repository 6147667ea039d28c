// Active monitors: who is in an interference-free region of what, right now.
//
// The idea (IFRit, OOPSLA 2012): if monitors of two threads for the same bytes are active at the same moment,
// and one of them is strong, then the two accesses they stand for race. For assume that access a of T
// happened before access b of U. Then T released something after a, and U acquired it, or something that came
// of it, before b. A monitor of T ends before T's first release after a; a monitor of U starts after U's last
// acquire before b. So T's had ended, in the order in which the machine performs memory operations, before
// U's started. (Not that a release *before* a, or an acquire *after* b, would matter: that is what makes
// these regions larger than those free of synchronisation.)
//
// What that needs of the machine: the store that ends a monitor is seen by others before the release that
// follows it in program order, and the load that sees another's monitor is performed after the acquire that
// precedes it. x86 gives both for ordinary stores and loads; the code below asks for them by name (release,
// acquire). Nothing else is needed for being right: it does not matter whether the thread that looks has
// published its own monitor, because at that moment it is in its region either way. Publishing first and
// looking afterwards only makes sure that of two threads at least one sees the other.
//
// The paper keeps a hash table of sets behind mutexes. Here a monitor of up to 8 aligned bytes (a point) is
// one word,
//
//   63..20 address / 8      19..9 number of the thread      8 strong      7..0 which bytes
//
// in a table of sets of four words. To start: read the four words of the set (half a cache line); a word with
// the same address, another thread and common bytes, one of the two strong, is a race; take a free word with
// one compare-and-swap. To stop: store 0. No lock, no allocation, no loop. A set that is full of other
// threads' words makes the monitor not start: it is sampled away, as everything here may be at any time (only
// stopping too late would be wrong). Longer ones (ranges) have a list of their own, of 64 entries, which is
// searched as a whole when it is not empty. What a loop accesses with gaps in between is a range with teeth
// (comb.h): whoever is between them does not meet it. Points that a range meets are looked for at both its
// ends, and further inside among the monitors of a few other threads.
//
// A thread has at most Thread::kMonitors at a time; the oldest makes room. What others need for a report (the
// stack) is in the thread's own record of the monitor, behind a version: if that changes while it is read,
// the race is not reported, rather than reported wrongly.
//
// Memory: the table has 512 KiB, of which what is used is touched; a thread has 16 KiB.
#pragma once

#include "runtime/monitor/comb.h"
#include "runtime/monitor/thread.h"
#include "runtime/monitor/unwind.h"

namespace deadheat::monitor {

struct StartRequest {
  uintptr_t address;
  uint64_t size;
  AccessType type;
  Caller from;  // the place in the program; without `sp`: where it was called from is not known
  bool prompt;  // the access is made before the thread comes to `from.pc` again
  // Ranges only, as in Comb: accessed with gaps in between.
  uint64_t stride = 0;
  uint64_t width = 0;

  Comb bytes() const { return {address, size, stride, width}; }
};

// Starts a monitor of up to kDhMonitorMaxPoint bytes.
void start_point(Thread* thread, const StartRequest& request);
// The same, and it lives through the releases until `end_keep`.
void keep_point(Thread* thread, const StartRequest& request);
void end_keep(Thread* thread);
// False if all ranges are taken.
bool start_range(Thread* thread, const StartRequest& request);
// What a loop accesses with gaps in between: a range if it is long, else points.
void start_strided(Thread* thread, const StartRequest& request);

// Reports races with what others monitor now, and starts nothing: for an access that is over at once.
void look_at(Thread* thread, const StartRequest& request);

// The thread is about to release: its monitors end, but for those that are kept.
void stop_all(Thread* thread);
void stop_all_even_kept(Thread* thread);
// Own monitors of these bytes end: the memory goes back to where another thread may get it from.
void stop_within(Thread* thread, uintptr_t begin, uintptr_t end);

// In the child of a fork, where no other thread lives.
void table_fork_child();

}  // namespace deadheat::monitor
