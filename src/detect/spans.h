// Spans: when an access can no longer show anything that an earlier one of the same thread does not show
// already.
//
// The idea is span redundancy (Rajagopalan, "Fast and Precise On-the-fly Data Race Detection", section 3.6,
// after RedCard): between two outgoing edges of a thread, its first access to a location stands for the later
// ones. Here a span does not end at every release but only at releases that can matter:
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
// In numbers: an access is labelled, a release publishes the largest label so far, and the present label is
//
//   1 + max(published(r) : r observed or pending)
//
// so that a1 covers a2 iff label(a1) is at or above the present label. A loop that takes a lock nobody else
// wants comes back to the same label in every critical section, and what it touches there is never looked at
// twice.
//
// Why it is exact for the first race of each location: let a2 be dropped, covered by a1.
//  - a2 as the later access of a race (e, a2): if e is before a1, then (e, a1) is a race that comes first. If
//  e is between them,
//    a1 ordered before e would need a release after a1 that was observed before a2, so (a1, e) is a race that
//    comes first.
//  - a2 as the earlier access of a race (a2, e): a1 ordered before e would need a release after a1 that e's
//  thread takes up; one
//    after a2 would order a2 as well, and one between them would be observed or pending at a2.
//
// Taking back is done for the last few exclusive locks only (kPending); any other release counts as observed
// at once, which is always safe: labels are then larger than they need to be. Whether a release was observed
// is asked only when its lock is taken again, so a thread never writes to another's clock.
//
// Freestanding: the runtime inside the user's program uses this header, one clock per thread; the offline
// filter is spans_filter.cc. `LockKey` names a lock: its address online, its id offline. Tests: spans_test.cc
// compares filtered and unfiltered detectors, watch/tests/model_test.cc the runtime, on all small traces and
// on random ones.
#pragma once

#include <stdint.h>

namespace deadheat::detect {

template <class LockKey, unsigned kPending = 4>
class SpanClock {
 public:
  void start(uint32_t first_label) {
    label_ = first_label;
    used_ = first_label - 1;
    observed_ = first_label - 1;
    pending_count_ = 0;
  }

  uint32_t label() const { return label_; }
  // The largest label of any access so far: what a release publishes.
  uint32_t used() const { return used_; }
  void note_used() {
    if (used_ < label_) used_ = label_;
  }

  // A release that anybody may observe at any time. Returns what it publishes.
  uint32_t release() {
    observed_ = used_;
    label_ = used_ + 1;
    return used_;
  }

  // The release of an exclusive lock, which `acquire_lock` may take back.
  uint32_t release_lock(LockKey lock) {
    // Taken again without our being told: the earlier release may have been observed.
    if (unsigned const earlier = pending_release(lock); earlier != kNone) take_back(earlier, false);
    if (pending_count_ == kPending) {
      // The oldest has the smallest published clock: giving it up costs the least.
      note_observed(pending_[0].published);
      for (unsigned i = 1; i < kPending; ++i) pending_[i - 1] = pending_[i];
      --pending_count_;
    }
    pending_[pending_count_++] = {lock, used_};
    label_ = used_ + 1;  // nothing that was published is larger than what was used
    return used_;
  }

  // This thread has taken `lock`. `unobserved`: nobody else had it since this thread released it. Returns
  // whether the label changed.
  bool acquire_lock(LockKey lock, bool unobserved) {
    unsigned const release = pending_release(lock);
    return release != kNone && take_back(release, unobserved);
  }

  // The same in two steps. The release of a lock that is pending, or kNone.
  static constexpr unsigned kNone = ~0u;
  unsigned pending_release(LockKey lock) const {
    // All are looked at, however many are in use: known to the compiler, that is faster. What is no longer
    // in use stands behind what is, and is found only if nothing else is.
    for (unsigned i = 0; i < kPending; ++i) {
      if (__builtin_expect(pending_[i].lock == lock, 0)) return i < pending_count_ ? i : kNone;
    }
    return kNone;
  }
  bool take_back(unsigned release, bool unobserved) {
    if (!unobserved) note_observed(pending_[release].published);
    --pending_count_;
    for (unsigned i = release; i < pending_count_; ++i) pending_[i] = pending_[i + 1];
    uint32_t const before = label_;
    label_ = 1 + highest(pending_count_);
    return label_ != before;
  }
  // What the label will be once it has been taken back, unobserved.
  uint32_t label_without(unsigned release) const {
    return release + 1 == pending_count_ ? 1 + highest(release) : label_;
  }

 private:
  struct Pending {
    LockKey lock;
    uint32_t published;
  };

  void note_observed(uint32_t published) {
    if (observed_ < published) observed_ = published;
  }
  // What was published by those that are observed and the first `count` of the pending ones. They stand in
  // the order of their releases, so that the last one published the most.
  uint32_t highest(unsigned count) const {
    return count != 0 && observed_ < pending_[count - 1].published ? pending_[count - 1].published
                                                                   : observed_;
  }

  uint32_t label_ = 1;
  uint32_t used_ = 0;
  uint32_t observed_ = 0;
  uint32_t pending_count_ = 0;
  Pending pending_[kPending] = {};
};

}  // namespace deadheat::detect
