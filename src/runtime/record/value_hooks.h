// What a load and a store of a recorded program execute: the steps that the inlined hooks and the runtime's
// own copies share. Uses nothing but record_abi.h, since it goes into the program as bitcode.
#pragma once

#include "runtime/record_abi.h"

namespace deadheat::record {

#define DH_ALWAYS_INLINE static inline __attribute__((always_inline))

// The thread's record, and copies of its run and hash that live in registers; see record_abi.h.
struct Copies {
  DhRecord*& record;
  uint64_t& run;
  uint64_t& hash;
};

DH_ALWAYS_INLINE void reload(Copies at) {
  DhRecord* const record = __dh_record;
  at.record = record;
  at.run = record->run;
  at.hash = record->hash;
}

// Read anew by every hook: a signal handler may have set it, to be noticed.
DH_ALWAYS_INLINE uint64_t attention_of(const DhRecord* record) {
  return *const_cast<const volatile uint64_t*>(&record->attention);
}

template <class T>
DH_ALWAYS_INLINE T guessed(DhRecord* record, uint64_t address) {
  T bytes;
  __builtin_memcpy_inline(&bytes, dh_image_at(record, address), sizeof bytes);
  return bytes;
}

template <class T>
DH_ALWAYS_INLINE void load(uint64_t address, uint64_t value, Copies at) {
  auto const difference = static_cast<T>(guessed<T>(at.record, address) ^ static_cast<T>(value));
  if (__builtin_expect((difference | attention_of(at.record)) == 0, 1)) {
    at.record->run = ++at.run;
    return;
  }
  __dh_rec_load_slow(at.record, address, value, sizeof(T));
  reload(at);
}

template <class T>
DH_ALWAYS_INLINE uint64_t relaxed_load(void* address, Copies at) {
  if (__builtin_expect(__atomic_load_n(&__dh_rec_has_fences, __ATOMIC_RELAXED) != 0, 0)) {
    uint64_t const value = __dh_rec_atomic(address, 0, kDhAtomicLoad, sizeof(T), __ATOMIC_RELAXED);
    reload(at);
    return value;
  }
  T const value = __atomic_load_n(static_cast<T*>(address), __ATOMIC_RELAXED);
  load<T>(reinterpret_cast<uint64_t>(address), value, at);
  return value;
}

template <class T>
DH_ALWAYS_INLINE void store(uint64_t address, uint64_t value, Copies at) {
  at.hash = dh_record_mix(at.hash, address, value);
  at.record->hash = at.hash;
  T const bytes = static_cast<T>(value);
  __builtin_memcpy_inline(dh_image_at(at.record, address), &bytes, sizeof bytes);
}

// Words in a row, of a vector, compared and stored without taking them out of it: one test for all of them.
// Where the predictor ends between two of them is the slow path's business.
template <uint32_t kPairs>
struct Pairs {
  DhPair pair[kPairs];
};

typedef char Bytes __attribute__((vector_size(16)));

template <uint32_t kPairs, bool kAligned>
DH_ALWAYS_INLINE bool is_at_end(uint64_t address) {
  return (!kAligned || kPairs > 1) && (address & kDhImageMask) > kDhImageBytes - 16 * kPairs;
}

template <uint32_t kPairs, bool kAligned>
DH_ALWAYS_INLINE void load_words(uint64_t address, Pairs<kPairs> value, Copies at) {
  Bytes same = ~Bytes{};
  for (uint32_t i = 0; i < kPairs; ++i) {
    Bytes guess;
    __builtin_memcpy_inline(&guess, dh_image_at(at.record, address) + 16 * i, sizeof guess);
    same &= guess == (Bytes)value.pair[i];
  }
  uint64_t const different = static_cast<uint64_t>(__builtin_ia32_pmovmskb128(same)) ^ 0xffff;
  if (__builtin_expect((different | attention_of(at.record)) == 0 && !is_at_end<kPairs, kAligned>(address),
                       1)) {
    at.record->run = at.run += 2 * kPairs;
    return;
  }
  for (uint32_t i = 0; i < kPairs; ++i) __dh_rec_load_words_slow(at.record, address + 16 * i, value.pair[i]);
  reload(at);
}

template <uint32_t kPairs, bool kAligned>
DH_ALWAYS_INLINE void store_words(uint64_t address, Pairs<kPairs> value, Copies at) {
  if constexpr (kPairs == 1) {
    at.hash = dh_record_mix2(at.hash, address, value.pair[0][0], value.pair[0][1]);
  } else {
    uint64_t const words[] = {value.pair[0][0], value.pair[0][1], value.pair[1][0], value.pair[1][1]};
    at.hash = dh_record_mix4(at.hash, address, words);
  }
  at.record->hash = at.hash;
  if (__builtin_expect(is_at_end<kPairs, kAligned>(address), 0)) {
    for (uint32_t i = 0; i < kPairs; ++i)
      __dh_rec_store_words_slow(at.record, address + 16 * i, value.pair[i]);
    return;
  }
  for (uint32_t i = 0; i < kPairs; ++i)
    __builtin_memcpy_inline(dh_image_at(at.record, address) + 16 * i, &value.pair[i], sizeof(DhPair));
}

}  // namespace deadheat::record
