// When may a thread keep its label? (The exact filter, "spans".)
//
// Classic FastTrack starts a new epoch at every release, and with it every location must be looked at again.
// But an epoch only has to separate what somebody can tell apart. Label each access with a clock; an access
// `a` and a release `r` of the same thread need label(a) <= published(r) if a came first, and label(a) >
// published(r) if r came first, only for releases that somebody else observed, or still can. A release is
// *pending* from the moment it is made; it stops being pending when the same thread takes the same lock again
// and nobody else had it in between: then nobody will ever see it.
//
//   label = 1 + max(published(r) : r observed or pending)
//
// and an earlier access covers a new one iff its label is at or above the present one. A loop that takes a
// lock nobody else wants goes back to the same label in every critical section, and its accesses there are
// never looked at twice.
//
// Taking back is done for the last few exclusive locks only (kPending); any other release counts as observed
// at once, which is always safe: labels are then larger than they need to be.
//
// Freestanding (the runtime inside the user's program uses this header); one per thread, used by its thread
// only. `LockKey` names a lock: its address online, its id offline.
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
    if (observed_ < used_) observed_ = used_;
    update();
    return used_;
  }

  // The release of an exclusive lock, which can be taken back by `reacquire`.
  uint32_t release_lock(LockKey lock) {
    for (unsigned i = 0; i < pending_count_; ++i) {
      if (pending_[i].lock == lock) {
        // Taken again without our being told: the earlier release may have been observed.
        if (observed_ < pending_[i].published) observed_ = pending_[i].published;
        pending_[i].published = used_;
        update();
        return used_;
      }
    }
    if (pending_count_ == kPending) {
      // The oldest has the smallest published clock: giving it up costs the least.
      if (observed_ < pending_[0].published) observed_ = pending_[0].published;
      for (unsigned i = 1; i < kPending; ++i) pending_[i - 1] = pending_[i];
      --pending_count_;
    }
    pending_[pending_count_++] = {lock, used_};
    update();
    return used_;
  }

  // This thread has taken `lock`. `unobserved`: nobody else had it since this thread released it.
  void acquire_lock(LockKey lock, bool unobserved) {
    for (unsigned i = 0; i < pending_count_; ++i) {
      if (pending_[i].lock != lock) continue;
      if (!unobserved && observed_ < pending_[i].published) observed_ = pending_[i].published;
      for (unsigned j = i + 1; j < pending_count_; ++j) pending_[j - 1] = pending_[j];
      --pending_count_;
      update();
      return;
    }
  }

 private:
  struct Pending {
    LockKey lock;
    uint32_t published;
  };

  void update() {
    uint32_t highest = observed_;
    for (unsigned i = 0; i < pending_count_; ++i) {
      if (highest < pending_[i].published) highest = pending_[i].published;
    }
    label_ = highest + 1;
  }

  uint32_t label_ = 1;
  uint32_t used_ = 0;
  uint32_t observed_ = 0;
  uint32_t pending_count_ = 0;
  Pending pending_[kPending];
};

}  // namespace deadheat::detect
