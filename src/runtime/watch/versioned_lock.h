// A lock whose word counts: odd while it is held, and never the same twice.
//
// Whoever only wants to look reads the version, looks, and believes what it saw if the version is even and
// still the same. So data that many threads ask about is not a queue.
#pragma once

#include <stdint.h>

#include "runtime/platform/syscalls.h"

namespace deadheat::watch {

class VersionedLock {
 public:
  void lock() {
    if (!try_lock()) lock_contended();
  }
  bool try_lock() {
    // Sets the lowest bit without having read the word before: one transfer of a contended line, not two.
    bool was_held;
    __asm__ volatile("lock btsl $0, %1" : "=@ccc"(was_held), "+m"(word_) : : "memory");
    return !was_held;
  }
  // REQUIRES: held.
  void unlock() { __atomic_store_n(&word_, word_ + 1, __ATOMIC_RELEASE); }

  // Odd: somebody is changing things.
  uint32_t version() const { return __atomic_load_n(&word_, __ATOMIC_ACQUIRE); }
  // After having looked: was nothing changed since `version` was read?
  bool still(uint32_t version) const {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (version & 1) == 0 && __atomic_load_n(&word_, __ATOMIC_RELAXED) == version;
  }

 private:
  __attribute__((preserve_most, noinline, cold)) void lock_contended() {
    // Who looks takes the line away from who holds it and needs it to come to an end: look more seldom. But
    // not much: a granule is locked for as long as a few lines take to come, unless who holds it does not
    // run.
    constexpr unsigned kMostPauses = 8;
    constexpr unsigned kLooks = 16;
    unsigned pauses = 1;
    for (unsigned looks = 0;; ++looks) {
      if (looks < kLooks) {
        for (unsigned i = 0; i < pauses; ++i) __builtin_ia32_pause();
        if (pauses < kMostPauses) pauses *= 2;
      } else {
        platform::sys_yield();
      }
      if ((__atomic_load_n(&word_, __ATOMIC_RELAXED) & 1) == 0 && try_lock()) return;
    }
  }

  uint32_t word_ = 0;
};

}  // namespace deadheat::watch
