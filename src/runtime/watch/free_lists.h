// Lists of free things that are named by a `Name`: a number, or what a cell says of it.
//
// Things are taken and given back all the time, in all threads. So each thread has a short list of its own
// (shared with others where there are many threads), and takes from the common one, or adds to it, only where
// that is empty or full. The links stand in the things themselves, so that the next one is asked for as soon
// as its name is known: who takes one usually takes more.
#pragma once

#include <stdint.h>

#include "runtime/platform/cache_line.h"
#include "runtime/platform/spinlock.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// A value-initialised `Name` is none.
template <class Name, uint32_t kMostOfOwn>
class FreeLists {
 public:
  // None if there is none. `next_of(name)` is its link, and `where(name)` where it stands.
  template <class NextOf, class Where>
  Name take(const Thread* thread, NextOf next_of, Where where) {
    Name name{};
    if (!own(thread).take(next_of, where, &name)) common_.take(next_of, where, &name);
    return name;
  }
  // `link(next)` writes its link, with the list locked.
  template <class Link>
  void give_back(const Thread* thread, const Name& name, Link link) {
    if (!own(thread).give_back(name, kMostOfOwn, link)) common_.give_back(name, ~0u, link);
  }
  uint64_t count() const {
    uint64_t count = common_.size();
    for (const List& list : own_) count += list.size();
    return count;
  }

 private:
  static constexpr uint32_t kOwnLists = 64;

  class alignas(platform::kLine) List {
   public:
    template <class NextOf, class Where>
    bool take(NextOf next_of, Where where, Name* name) {
      platform::SpinGuard const guard(lock_);
      if (count_ == 0) return false;
      __atomic_store_n(&count_, count_ - 1, __ATOMIC_RELAXED);
      *name = first_;
      first_ = next_of(first_);
      platform::want_line(where(first_));
      return true;
    }
    // False, with nothing done, if there are `most` already.
    template <class Link>
    bool give_back(const Name& name, uint32_t most, Link link) {
      platform::SpinGuard const guard(lock_);
      if (count_ == most) return false;
      __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELAXED);
      link(first_);
      first_ = name;
      return true;
    }
    uint32_t size() const { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }

   private:
    platform::Spinlock lock_;
    uint32_t count_ = 0;
    Name first_{};
  };

  List& own(const Thread* thread) { return own_[thread != nullptr ? thread->slot % kOwnLists : 0]; }

  List own_[kOwnLists];
  List common_;
};

}  // namespace deadheat::watch
