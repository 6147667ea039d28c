// The bodies of the hooks, once for bare and once for observed replays.
//
// Included by replay_hooks.cc, which is compiled to bitcode and inlined into mirrored code, and by
// slow_hooks.cc, which builds copies, fills and atomics from the same steps. Every step must do to the
// predictor exactly what the recording runtime did.
#pragma once

#include "replay/abi.h"

namespace deadheat::replay::bodies {

#define DH_BODY static inline __attribute__((always_inline))

DH_BODY bool is_likely(bool condition) { return __builtin_expect(condition, 1); }

// The granule of `address` is in the image from now on; bytes of it that were never seen are 0.
DH_BODY void claim(DhReplay* thread, uint64_t address) {
  const uint64_t granule = address >> 3;
  uint32_t& tag = thread->tags[granule & (kDhGranules - 1)];
  if (is_likely(tag == dh_tag_of(granule))) return;
  tag = dh_tag_of(granule);
  const uint64_t zero = 0;
  __builtin_memcpy(&thread->image[(granule << 3) & kDhImageMask], &zero, 8);
}

// Sizes that only run time knows go by whole granules: a copy of so many bytes would be a call.
DH_BODY uint64_t low_mask(uint32_t size) { return ~uint64_t{0} >> (64 - 8 * size); }

DH_BODY uint64_t* granule_of(DhReplay* thread, uint64_t address) {
  return (uint64_t*)&thread->image[address & kDhImageMask & ~uint64_t{7}];
}

// REQUIRES: within a granule, 1 to 8 bytes; so for `poke`.
DH_BODY uint64_t peek(DhReplay* thread, uint64_t address, uint32_t size) {
  if (!__builtin_constant_p(size))
    return *granule_of(thread, address) >> (8 * (address & 7)) & low_mask(size);
  uint64_t value = 0;
  __builtin_memcpy(&value, &thread->image[address & kDhImageMask], size);
  return value;
}

DH_BODY void poke(DhReplay* thread, uint64_t address, uint64_t value, uint32_t size) {
  if (__builtin_constant_p(size) && size == 8)
    thread->tags[(address >> 3) & (kDhGranules - 1)] = dh_tag_of(address >> 3);
  else
    claim(thread, address);
  if (!__builtin_constant_p(size)) {
    uint64_t* const granule = granule_of(thread, address);
    const uint32_t shift = 8 * (address & 7);
    const uint64_t mask = low_mask(size);
    *granule = (*granule & ~(mask << shift)) | (value & mask) << shift;
    return;
  }
  __builtin_memcpy(&thread->image[address & kDhImageMask], &value, size);
}

// A thread, and its counters: copies that live in registers, or the thread's own (abi.h).
struct Copies {
  DhReplay* thread;
  uint64_t& run;
  uint64_t& hash;
  uint64_t& stores;  // since the last flush
};

DH_BODY Copies in_memory(DhReplay* thread) { return {thread, thread->run, thread->hash, thread->stores}; }

// REQUIRES: copies. The hash is in memory already.
DH_BODY void flush(Copies at) {
  at.thread->run = at.run;
  at.thread->stores += at.stores;
  at.stores = 0;
}

DH_BODY void reload(Copies at) {
  at.run = at.thread->run;
  at.hash = at.thread->hash;
}

// A value hook of `size` bytes within a granule.
DH_BODY uint64_t value(Copies at, uint64_t address, uint32_t size, uint32_t site) {
  if (is_likely(at.run != 0)) {
    --at.run;
    return peek(at.thread, address, size);
  }
  // It knows that the run is over.
  const uint64_t found = __dh_rep_value_slow(at.thread, address, size, site);
  reload(at);
  return found;
}

DH_BODY uint64_t value(DhReplay* thread, uint64_t address, uint32_t size, uint32_t site) {
  return value(in_memory(thread), address, size, site);
}

template <bool kObserved>
DH_BODY uint64_t load(Copies at, uint64_t address, uint32_t size, uint32_t site) {
  const uint64_t seen = value(at, address, size, site);
  if (kObserved) __dh_rep_observe(at.thread, address, seen, size, site);
  return seen;
}

DH_BODY void mix(Copies at, uint64_t address, uint64_t value) {
  at.hash = dh_record_mix(at.hash, address, value);
  at.thread->hash = at.hash;
  ++at.stores;
}

// A store that faulted when it was recorded runs the handler here: much happens then.
DH_BODY void observe_store(Copies at, uint64_t address, uint64_t value, uint32_t size_and_flags,
                           uint32_t site) {
  flush(at);
  __dh_rep_observe(at.thread, address, value, size_and_flags, site);
  reload(at);
}

template <bool kObserved>
DH_BODY void store(Copies at, uint64_t address, uint64_t value, uint32_t size, uint32_t site) {
  if (kObserved) observe_store(at, address, value, size | kDhAccessWrite, site);
  poke(at.thread, address, value, size);
  mix(at, address, value);
}

template <bool kObserved>
DH_BODY void store_vptr(Copies at, uint64_t address, uint64_t value, uint32_t site) {
  if (kObserved) {
    const uint64_t granule = address >> 3;
    const bool is_same = at.thread->tags[granule & (kDhGranules - 1)] == dh_tag_of(granule) &&
                         peek(at.thread, address, 8) == value;
    observe_store(at, address, value, is_same ? 8 : 8 | kDhAccessWrite, site);
  }
  store<false>(at, address, value, 8, site);
}

}  // namespace deadheat::replay::bodies
