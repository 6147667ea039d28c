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

// Read anew by every hook: a signal handler may have changed it, to be noticed.
DH_ALWAYS_INLINE DhGranule* table_of(DhRecord* record) {
  return *const_cast<DhGranule* volatile*>(&record->table);
}

// The bytes at `address` as the predictor has them; null if it does not. An access that may cross into the
// next granule is the slow path's business if it does.
template <class T, bool kMayCross>
DH_ALWAYS_INLINE T* known(DhRecord* record, uint64_t address) {
  DhGranule* const granule = dh_granule_of(table_of(record), address);
  bool const within = !kMayCross || (address & 7) <= 8 - sizeof(T);
  uint64_t const start = sizeof(T) == 8 && !kMayCross ? address : address & ~uint64_t{7};
  if (__builtin_expect(!within || granule->address != start, 0)) return nullptr;
  uint64_t const offset = sizeof(T) == 8 ? 0 : address & 7;
  return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(&granule->bytes) + offset);
}

template <class T, bool kMayCross = false>
DH_ALWAYS_INLINE void load(uint64_t address, uint64_t value, Copies at) {
  const T* const bytes = known<T, kMayCross>(at.record, address);
  if (__builtin_expect(bytes != nullptr && *bytes == static_cast<T>(value), 1)) {
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

template <class T, bool kMayCross = false>
DH_ALWAYS_INLINE void store(uint64_t address, uint64_t value, Copies at) {
  at.hash = dh_record_mix(at.hash, address, value);
  at.record->hash = at.hash;
  T* const bytes = known<T, kMayCross>(at.record, address);
  if (__builtin_expect(bytes != nullptr, 1))
    *bytes = static_cast<T>(value);
  else
    __dh_rec_store_slow(at.record, address, value, sizeof(T));
}

// Several words in a row, of a vector: one test for all of them. Words that lie in two granules each, and
// those at the end of the table, whose successors are never filled, are the slow path's business.
template <uint32_t kWords>
struct Words {
  uint64_t word[kWords];
};

// A granule, compared as a whole: the words come out of a vector and need not leave it.
typedef uint64_t Pair __attribute__((vector_size(16)));
typedef int32_t Quarters __attribute__((vector_size(16)));
typedef float MaskOperand __attribute__((vector_size(16)));
static_assert(sizeof(DhGranule) == sizeof(Pair));

DH_ALWAYS_INLINE bool is_zero(Pair pair) {
  return __builtin_ia32_movmskps((MaskOperand)((Quarters)pair == Quarters{})) == 15;
}

template <uint32_t kWords, bool kMayCross>
DH_ALWAYS_INLINE void load_words(uint64_t address, Words<kWords> value, Copies at) {
  const DhGranule* const granule = dh_granule_of(table_of(at.record), address);
  Pair difference = {kMayCross ? address & 7 : 0, 0};
  for (uint32_t i = 0; i < kWords; ++i) {
    Pair known;
    __builtin_memcpy_inline(&known, __builtin_assume_aligned(&granule[i], 16), sizeof known);
    difference |= known ^ Pair { address + 8 * i, value.word[i] };
  }
  if (__builtin_expect(is_zero(difference), 1)) {
    at.record->run = at.run += kWords;
    return;
  }
  for (uint32_t i = 0; i < kWords; ++i) __dh_rec_load_slow(at.record, address + 8 * i, value.word[i], 8);
  reload(at);
}

template <uint32_t kWords, bool kMayCross>
DH_ALWAYS_INLINE void store_words(uint64_t address, Words<kWords> value, Copies at) {
  for (uint32_t i = 0; i < kWords; ++i) at.hash = dh_record_mix(at.hash, address + 8 * i, value.word[i]);
  at.record->hash = at.hash;
  DhGranule* const granule = dh_granule_of(table_of(at.record), address);
  uint64_t difference = kMayCross ? address & 7 : 0;
  for (uint32_t i = 0; i < kWords; ++i) difference |= granule[i].address ^ (address + 8 * i);
  if (__builtin_expect(difference == 0, 1)) {
    for (uint32_t i = 0; i < kWords; ++i) granule[i].bytes = value.word[i];
    return;
  }
  for (uint32_t i = 0; i < kWords; ++i) __dh_rec_store_slow(at.record, address + 8 * i, value.word[i], 8);
}

}  // namespace deadheat::record
