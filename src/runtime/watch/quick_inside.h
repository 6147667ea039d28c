// Inside (thread.h) for short ways that do not nest: what is rare is a call in tail position, for which no
// register needs to be kept.
#pragma once

#include <stdint.h>

#include "runtime/lane.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// An acquire load by one instruction that compares: an atomic load of a bool takes three.
__attribute__((always_inline)) inline bool is_set(const bool* flag) {
  bool set;
  __asm__ volatile("cmpb $0, %1" : "=@ccne"(set) : "m"(*flag) : "memory");
  return set;
}

// False, with nothing done: somebody is about to fork.
// REQUIRES: thread->may_be_quick()
__attribute__((always_inline)) inline bool enter_quickly(Thread* thread) {
  __atomic_store_n(&thread->inside, 1u, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(!is_set(&gate_closed), 1)) return true;
  // A signal that came meanwhile waits for the way out of the runtime that is taken instead.
  __atomic_store_n(&thread->inside, 0u, __ATOMIC_RELEASE);
  return false;
}

// Delivers signals that came meanwhile. Returns `value`.
__attribute__((noinline, cold)) inline uint64_t leave_again(Thread* thread, uint64_t value) {
  Inside const inside(thread);
  return value;
}
__attribute__((always_inline)) inline uint64_t leave_quickly(Thread* thread, uint64_t value) {
  __atomic_store_n(&thread->inside, 0u, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(lane::signals_pending != 0, 0)) return leave_again(thread, value);
  return value;
}

// The same for who saves no registers for what is rare.
__attribute__((preserve_most, noinline, cold)) inline void deliver_keeping_registers(Thread* thread) {
  leave_again(thread, 0);
}
__attribute__((always_inline)) inline void leave_keeping_registers(Thread* thread) {
  __atomic_store_n(&thread->inside, 0u, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(lane::signals_pending != 0, 0)) deliver_keeping_registers(thread);
}

}  // namespace deadheat::watch
