// Where locks are taken: what is the same each time a lock is taken at one place in the code.
//
// Per thread, direct-mapped. A place is a call, made in one context of frames and outer locks; for it the
// table knows the numbers of the call stacks, and of the locksets that follow (LocksetEntry in stacks.h says
// why few locks are told apart at a place).
#pragma once

#include <stdint.h>

#include "runtime/watch/stacks.h"

namespace deadheat::watch {

struct Thread;

struct LockPlace {
  uint64_t key;      // pc and mode; 0: nothing known here
  uint64_t context;  // frame node, lockset
  StackId use;       // of the read that taking a lock is
  StackId acquired;
  uintptr_t lock[4];
  LocksetId with[4];     // the lockset with that lock
  LocksetId with_other;  // with any other one, 0: not known

  LocksetId lockset_with(uintptr_t address) const {
    if (lock[0] == address) return with[0];
    if (lock[1] == address) return with[1];
    if (lock[2] == address) return with[2];
    if (lock[3] == address) return with[3];
    return with_other;
  }
};
static_assert(sizeof(LockPlace) == 80);

struct LockPlaces {
  static constexpr unsigned kBits = 6;
  LockPlace place[1u << kBits];

  static constexpr uint64_t key(uintptr_t pc, bool shared) { return pc << 1 | (shared ? 1 : 0); }
  LockPlace* at(uint64_t key, uint64_t context) {
    return &place[(key + context) * 0x9E3779B97F4A7C15ull >> (64 - kBits)];
  }
};

// Null where it takes more than a place to know the stacks: the caller is in a library whose frames must be
// looked for, or one whose locks are no accesses; or the tables are full.
// REQUIRES: `context` is the thread's present one.
__attribute__((preserve_most, noinline)) LockPlace* remember_lock_place(Thread* thread, uintptr_t pc,
                                                                        bool shared, uint64_t context);
// The lockset with a lock that the place does not know yet; 0 if the tables are full.
__attribute__((preserve_most, noinline)) LocksetId remember_lockset(Thread* thread, LockPlace* place,
                                                                    uintptr_t lock, bool shared);

}  // namespace deadheat::watch
