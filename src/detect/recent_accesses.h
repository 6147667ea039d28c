// The last reads and writes of a location by two different threads each: for detectors that find a location
// at fault rather than a pair of accesses, and still have to name a pair.
#pragma once

#include "base/check.h"
#include "base/strong_id.h"
#include "detect/detector.h"
#include "detect/thread_slots.h"
#include "trace/event.h"

namespace deadheat::detect {

class RecentAccesses {
 public:
  struct Access {
    EventIndex index;
    ThreadId thread;
    SiteId site;
    Slot slot;
    Clock clock;
    bool there = false;
  };

  void add(EventIndex index, const Event& event, Slot slot, Clock clock) {
    Access* last = of_kind_[event.kind == EventKind::kWrite];
    if (last[0].there && last[0].thread != event.thread) last[1] = last[0];
    last[0] = Access{index, event.thread, event.site, slot, clock, true};
  }

  // The access of another thread to name beside `event`: the most recent one that conflicts and is not
  // `ordered`; else the most recent one that conflicts; else the most recent one. REQUIRES: another thread
  // has accessed the location.
  template <class Ordered>
  RacyEvent partner(const Event& event, const Ordered& ordered) const {
    const Access* best = nullptr;
    int best_rank = -1;
    EventKind kind = EventKind::kRead;
    for (int write = 0; write < 2; ++write) {
      for (const Access& access : of_kind_[write]) {
        if (!access.there || access.thread == event.thread) continue;
        const bool conflicts = write == 1 || event.kind == EventKind::kWrite;
        const int rank = conflicts ? (ordered(access) ? 1 : 2) : 0;
        if (rank < best_rank || (rank == best_rank && access.index < best->index)) continue;
        best = &access;
        best_rank = rank;
        kind = write == 1 ? EventKind::kWrite : EventKind::kRead;
      }
    }
    DEADHEAT_CHECK(best != nullptr);
    Event earlier;
    earlier.kind = kind;
    earlier.thread = best->thread;
    earlier.object = event.object;
    earlier.site = best->site;
    return RacyEvent{best->index, earlier};
  }

 private:
  Access of_kind_[2][2];  // reads and writes; the last one, and the last one by another thread
};

}  // namespace deadheat::detect
