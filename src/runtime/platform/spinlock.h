// A lock of our own: the program's locks are never ours to take.
//
// Held for a few dozen instructions at a time. A waiter spins briefly and then yields, so that a holder that
// was descheduled gets the processor.
#pragma once

#include "runtime/platform/syscalls.h"

namespace deadheat::platform {

// Waits for who holds something for a few dozen instructions: briefly, unless it does not run.
class Patience {
 public:
  void wait() {
    if (looks_ < kLooks) {
      ++looks_;
      __builtin_ia32_pause();
    } else {
      sys_yield();
    }
  }

 private:
  static constexpr unsigned kLooks = 64;
  unsigned looks_ = 0;
};

class Spinlock {
 public:
  void lock() {
    if (!try_lock()) lock_contended();
  }
  bool try_lock() { return __atomic_exchange_n(&locked_, 1u, __ATOMIC_ACQUIRE) == 0; }
  void unlock() { __atomic_store_n(&locked_, 0u, __ATOMIC_RELEASE); }
  bool is_locked() const { return __atomic_load_n(&locked_, __ATOMIC_ACQUIRE) != 0; }
  // After fork, in the child: whoever held it does not exist here.
  void reset() { __atomic_store_n(&locked_, 0u, __ATOMIC_RELAXED); }

 private:
  __attribute__((noinline, cold)) void lock_contended() {
    for (Patience patience;; patience.wait()) {
      if (__atomic_load_n(&locked_, __ATOMIC_RELAXED) == 0 && try_lock()) return;
    }
  }

  uint32_t locked_ = 0;
};

class SpinGuard {
 public:
  explicit SpinGuard(Spinlock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  Spinlock& lock_;
};

}  // namespace deadheat::platform
