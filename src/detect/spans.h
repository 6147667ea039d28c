// Spans: when an access can no longer show anything that an earlier one of the same thread does not show
// already.
//
// The idea is the thesis's span redundancy ("A Fast and Precise Race Detector", section 3.6, after RedCard):
// between two outgoing edges of a thread, its first access to a location stands for the later ones. Here a
// span does not end at every release but only at releases that can matter:
//
//   An access a2 is covered by an earlier access a1 of the same thread (same bytes, same or stronger kind) if
//   and only if no release of that thread between them is observed or pending.
//
// A release is *observed* when another thread has taken it up (acquired the lock next, was forked, received),
// and *pending* while another thread still may: the lock is free and this thread released it last. A release
// stops being pending without having been observed when the same thread takes the lock again: whoever takes
// the lock later is ordered after the next release, too, so the old one carries no order of its own. "Not
// observed so far" would not be enough:
//
//   T0: w(x) rel(A) w(x)      T1: acq(A) r(x)
//
// At the second w(x) nobody has observed rel(A), but T1 is about to; the first w(x) is then ordered before
// r(x) and the second one is not.
//
// In numbers: releases of a thread are numbered; an access is labelled with the number of the next release;
// a1 covers a2 if label(a1) > n for every observed or pending release n at the time of a2. The largest
// observed number only grows. Pending releases form a list in the order of their numbers, so the largest one
// is at its end, and every operation takes constant time.
//
// Why it is exact for the first race of each location: let a2 be dropped, covered by a1.
//  - a2 as the later access of a race (e, a2): if e is before a1, then (e, a1) is a race that comes first. If
//  e is between
//    them, a1 ordered before e would need a release after a1 that was observed before a2, so (a1, e) is a
//    race that comes first.
//  - a2 as the earlier access of a race (a2, e): a1 ordered before e would need a release after a1 that e's
//  thread
//    takes up; one after a2 would order a2 as well, and one between them would be observed or pending at a2.
//
// This header needs no library beyond <cstdint>: the runtime inside the user's program uses it as well. It
// does no locking. Tests: spans_test.cc compares filtered and unfiltered detectors on all small traces and on
// random ones.
#pragma once

#include <cstdint>

namespace deadheat::detect {

struct SpanThread;

// The state of one lock, zero at first. Must not move while its release is pending.
struct SpanLock {
  SpanThread* releaser = nullptr;  // whose release is pending; null if none is
  std::uint64_t number = 0;        // of that release
  SpanLock* older = nullptr;
  SpanLock* newer = nullptr;
};

// The state of one thread. Must not move while it has pending releases.
struct SpanThread {
  std::uint64_t next = 1;      // number of the next release: the label of accesses now
  std::uint64_t observed = 0;  // largest number of an observed release
  SpanLock* newest = nullptr;  // pending releases
};

// The label to remember with an access that was not covered. 0 is no access's label.
inline std::uint64_t span_label(const SpanThread& thread) { return thread.next; }

// An access with this label or a larger one covers what the thread does now.
inline std::uint64_t span_start(const SpanThread& thread) {
  const std::uint64_t pending = thread.newest == nullptr ? 0 : thread.newest->number;
  return 1 + (pending > thread.observed ? pending : thread.observed);
}

inline bool span_covers(std::uint64_t label, const SpanThread& thread) { return label >= span_start(thread); }

namespace spans_internal {
inline void unlink(SpanLock& lock) {
  if (lock.newer == nullptr) {
    lock.releaser->newest = lock.older;
  } else {
    lock.newer->older = lock.older;
  }
  if (lock.older != nullptr) lock.older->newer = lock.newer;
  lock.releaser = nullptr;
  lock.older = nullptr;
  lock.newer = nullptr;
}
}  // namespace spans_internal

inline void span_acquire(SpanThread& thread, SpanLock& lock) {
  SpanThread* const releaser = lock.releaser;
  if (releaser == nullptr) return;
  spans_internal::unlink(lock);
  if (releaser != &thread && releaser->observed < lock.number) releaser->observed = lock.number;
}

inline void span_release(SpanThread& thread, SpanLock& lock) {
  // A release without an acquire in between: what was pending counts as observed, which is always safe.
  if (lock.releaser != nullptr) {
    SpanThread& before = *lock.releaser;
    spans_internal::unlink(lock);
    if (before.observed < lock.number) before.observed = lock.number;
  }
  lock.releaser = &thread;
  lock.number = thread.next++;
  lock.older = thread.newest;
  if (lock.older != nullptr) lock.older->newer = &lock;
  thread.newest = &lock;
}

// A fork, a send, a release store: an edge that others may take up at any time from now on.
inline void span_publish(SpanThread& thread) { thread.observed = thread.next++; }

}  // namespace deadheat::detect
