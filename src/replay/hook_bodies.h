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

DH_BODY uint64_t peek(const DhReplay* thread, uint64_t address, uint32_t size) {
  uint64_t value = 0;
  __builtin_memcpy(&value, &thread->image[address & kDhImageMask], size);
  return value;
}

DH_BODY void poke(DhReplay* thread, uint64_t address, uint64_t value, uint32_t size) {
  claim(thread, address);
  __builtin_memcpy(&thread->image[address & kDhImageMask], &value, size);
}

// A value hook of `size` bytes within a granule.
DH_BODY uint64_t value(DhReplay* thread, uint64_t address, uint32_t size, uint32_t site) {
  if (is_likely(thread->run != 0)) {
    --thread->run;
    return peek(thread, address, size);
  }
  return __dh_rep_value_slow(thread, address, size, site);
}

template <bool kObserved>
DH_BODY uint64_t load(DhReplay* thread, uint64_t address, uint32_t size, uint32_t site, uint32_t flags = 0) {
  const uint64_t seen = value(thread, address, size, site);
  if (kObserved) __dh_rep_observe(thread, address, seen, size | flags, site);
  return seen;
}

template <bool kObserved>
DH_BODY void store(DhReplay* thread, uint64_t address, uint64_t value, uint32_t size, uint32_t site,
                   uint32_t flags = 0) {
  if (kObserved) __dh_rep_observe(thread, address, value, size | kDhAccessWrite | flags, site);
  poke(thread, address, value, size);
  thread->hash = dh_record_mix(thread->hash, address, value);
  ++thread->stores;
}

template <bool kObserved>
DH_BODY void store_vptr(DhReplay* thread, uint64_t address, uint64_t value, uint32_t site) {
  if (kObserved) {
    const uint64_t granule = address >> 3;
    const bool is_same =
        thread->tags[granule & (kDhGranules - 1)] == dh_tag_of(granule) && peek(thread, address, 8) == value;
    __dh_rep_observe(thread, address, value, is_same ? 8 : 8 | kDhAccessWrite, site);
  }
  store<false>(thread, address, value, 8, site);
}

}  // namespace deadheat::replay::bodies
