// The short half of the monitor lane's answers to interposed calls (lane.h), inlined into the interposers:
// while the gate is closed and the thread has no monitors, a call costs one comparison more than without the
// lane. What is longer is in lane.cc.
//
// INTERPOSE_ACCESSES goes further, for calls that do nothing but access memory (interpose.h): with the gate
// closed they are a jump to the real function.
#pragma once

#include "runtime/monitor_abi.h"

namespace deadheat::lane {

void read_slow(const void* address, size_t size, Pc pc);
void write_slow(void* address, size_t size, Pc pc);
void freeing_slow(void* address, size_t size, Pc pc);
void unmapping_slow(void* address, size_t size);
void acquire_slow();
void release_slow();

namespace inlined {
inline bool gate_is_closed() {
  return __builtin_expect(__atomic_load_n(&__dh_monitor_gate, __ATOMIC_RELAXED) == 0, 1);
}
inline bool has_monitors() { return __builtin_expect(__dh_monitor_hot.active != 0, 0); }
// Before anything that another thread may be ordered after.
inline void releasing() {
  if (has_monitors()) release_slow();
}
}  // namespace inlined

inline void read(const void* address, size_t size, Pc pc) {
  if (!inlined::gate_is_closed()) read_slow(address, size, pc);
}
inline void write(void* address, size_t size, Pc pc) {
  if (!inlined::gate_is_closed()) write_slow(address, size, pc);
}

inline void allocated(void*, size_t, Pc) {}
inline void usable(void*, size_t) {}
inline void mapped(void*, size_t, Pc) {}
inline void published(const void*, size_t) { inlined::releasing(); }
// With the block's size, if it is known.
inline void freeing_of(void* address, size_t size, Pc pc) { freeing_slow(address, size, pc); }
inline bool hears_of_freeing() { return inlined::has_monitors() || !inlined::gate_is_closed(); }
inline void freeing(void* address, Pc pc, MemoryThen) {
  if (hears_of_freeing()) freeing_slow(address, 0, pc);
}
inline void unmapping(void* address, size_t size, Pc) {
  if (inlined::has_monitors()) unmapping_slow(address, size);
}

inline void acquire(const volatile void*) {
  if (inlined::has_monitors()) acquire_slow();
}
inline void release(const volatile void*) { inlined::releasing(); }
inline void release_store(const volatile void*) { inlined::releasing(); }
inline void forget(const volatile void*) {}

inline void lock_wanted(const void* lock, LockMode, Pc pc) { read(lock, 1, pc); }
inline void lock_only_used(const void*, LockMode, Pc) {}
inline void lock_acquired(const volatile void*, LockMode, LockIs, Pc) {}
inline void lock_releasing(const volatile void*, Pc) { inlined::releasing(); }
inline void lock_destroyed(const volatile void*) {}

inline void barrier_initialised(const volatile void*, uint32_t) {}
inline BarrierTicket barrier_arrive(const volatile void*) {
  inlined::releasing();
  return {0};
}
inline void barrier_leave(const volatile void*, BarrierTicket) {}
inline void barrier_destroyed(const volatile void*) {}

}  // namespace deadheat::lane
