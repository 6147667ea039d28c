// A direct-mapped table of a thread that begins small, and is exchanged once for a larger one where it is
// asked in vain too often: most threads touch few places, and there may be thousands of them.
//
// What it forgets by that is only looked up again. It is asked outside of the runtime, too, where a signal's
// handler may grow it at any time: the small table stays as long as the thread, and whoever asks takes the
// mask before the table, so that it never looks behind the end.
#pragma once

#include <stdint.h>

namespace deadheat::watch {

template <class T, unsigned kFewBits, unsigned kManyBits>
class RoomyTable {
 public:
  static constexpr uint32_t kMany = 1u << kManyBits;

  // All zeros is no table yet.
  void begin() { grow(few_, kFewBits); }
  // REQUIRES: `many` are kMany, all zeros, and stay as long as this.
  void grow(T* many) { grow(many, kManyBits); }

  // `hash`: its upper bits count.
  __attribute__((always_inline)) T& at(uint32_t hash) { return table()[index(hash)]; }
  __attribute__((always_inline)) const T& at(uint32_t hash) const {
    uint32_t const i = index(hash);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return table()[i];
  }

 private:
  void grow(T* table, unsigned bits) {
    __atomic_store_n(&table_, table, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&mask_, (1u << bits) - 1, __ATOMIC_RELAXED);
  }
  uint32_t index(uint32_t hash) const {
    return hash >> (32 - kManyBits) & __atomic_load_n(&mask_, __ATOMIC_RELAXED);
  }
  T* table() const { return __atomic_load_n(&table_, __ATOMIC_RELAXED); }

  T* table_;
  uint32_t mask_;
  T few_[1u << kFewBits];
};

}  // namespace deadheat::watch
