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

// Inlined code is compiled for one kind of predictor; the slow paths ask.
#ifdef DEADHEAT_TAGGED
DH_BODY bool is_tagged(const DhReplay*) { return DEADHEAT_TAGGED; }
#else
DH_BODY bool is_tagged(const DhReplay* thread) { return thread->is_tagged != 0; }
#endif

DH_BODY uint32_t& tag_at(DhReplay* thread, uint64_t address) {
  return thread->tags[(address & kDhImageMask) >> 3];
}

// Tagged: the granule of `address` is in the image from now on; bytes of it that were never seen are 0.
DH_BODY void claim(DhReplay* thread, uint64_t address) {
  uint32_t& tag = tag_at(thread, address);
  if (is_likely(tag == dh_tag_of(address))) return;
  tag = dh_tag_of(address);
  const uint64_t zero = 0;
  __builtin_memcpy(&thread->image[address & kDhImageMask & ~uint64_t{7}], &zero, 8);
}

// Tagged: whether an access is two, one in each of two granules.
DH_BODY bool is_split(const DhReplay* thread, uint64_t address, uint32_t size) {
  return is_tagged(thread) && (address & 7) + size > 8;
}

// Sizes that only run time knows go by whole words: a copy of so many bytes would be a call.
DH_BODY uint64_t low_mask(uint32_t size) { return ~uint64_t{0} >> (64 - 8 * size); }

DH_BODY uint8_t* image_at(DhReplay* thread, uint64_t address) {
  return &thread->image[address & kDhImageMask];
}

// REQUIRES: 1 to 8 bytes, not split; so for `poke`.
DH_BODY uint64_t peek(DhReplay* thread, uint64_t address, uint32_t size) {
  uint64_t value = 0;
  if (__builtin_constant_p(size)) {
    __builtin_memcpy(&value, image_at(thread, address), size);
    return value;
  }
  __builtin_memcpy(&value, image_at(thread, address), 8);
  return value & low_mask(size);
}

DH_BODY void poke(DhReplay* thread, uint64_t address, uint64_t value, uint32_t size) {
  if (is_tagged(thread)) claim(thread, address);
  if (__builtin_constant_p(size)) {
    __builtin_memcpy(image_at(thread, address), &value, size);
    return;
  }
  uint64_t word;
  const uint64_t mask = low_mask(size);
  __builtin_memcpy(&word, image_at(thread, address), 8);
  word = (word & ~mask) | (value & mask);
  __builtin_memcpy(image_at(thread, address), &word, 8);
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
  if (kObserved) {
    tag_at(at.thread, address) = dh_tag_of(address);
    __dh_rep_observe(at.thread, address, seen, size, site);
  }
  return seen;
}

DH_BODY uint64_t mixed(const DhReplay* thread, uint64_t hash, uint64_t address, uint64_t value) {
  return is_tagged(thread) ? dh_record_old_mix(hash, address, value) : dh_record_mix(hash, address, value);
}

DH_BODY void mix(Copies at, uint64_t address, uint64_t value) {
  at.hash = mixed(at.thread, at.hash, address, value);
  at.thread->hash = at.hash;
  ++at.stores;
}

// REQUIRES: not tagged.
DH_BODY void mix2(Copies at, uint64_t address, uint64_t a, uint64_t b) {
  at.hash = dh_record_mix2(at.hash, address, a, b);
  at.thread->hash = at.hash;
  at.stores += 2;
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
  if (kObserved) tag_at(at.thread, address) = dh_tag_of(address);
  mix(at, address, value);
}

template <bool kObserved>
DH_BODY void store_vptr(Copies at, uint64_t address, uint64_t value, uint32_t site) {
  if (kObserved) {
    const bool is_same =
        tag_at(at.thread, address) == dh_tag_of(address) && peek(at.thread, address, 8) == value;
    observe_store(at, address, value, is_same ? 8 : 8 | kDhAccessWrite, site);
  }
  store<false>(at, address, value, 8, site);
  if (kObserved) tag_at(at.thread, address) = dh_tag_of(address);
}

}  // namespace deadheat::replay::bodies
