// A vector clock in the runtime's own memory: for each slot, the latest clock that is known to be ordered
// before.
//
// The owner writes; another thread may read single entries at any time (`get` is safe while `set` and `join`
// run), which is what slot reuse needs. Arrays that were outgrown are kept for that reader until the clock is
// destroyed.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/platform/cache_line.h"
#include "runtime/platform/memory.h"

namespace deadheat::watch {

// Some entries, wherever they stand. Behind them are zeroes, up to eight entries at least; unless there are
// none at all.
struct ClockView {
  const uint32_t* clock;
  uint32_t size;
};

// Eight entries, which is all that most programs ever need, without a loop.
namespace eight {

inline constexpr uint32_t kEntries = 8;
static_assert(kDhClockBits < 32, "clocks are compared as signed numbers");

using Four = int32_t __attribute__((vector_size(16)));
inline Four load(const uint32_t* at) {
  Four four;
  __builtin_memcpy(&four, at, sizeof four);
  return four;
}
inline void store(uint32_t* at, Four four) { __builtin_memcpy(at, &four, sizeof four); }

inline void copy(uint32_t* to, const uint32_t* from) {
  Four const low = load(from);
  Four const high = load(from + 4);
  store(to, low);
  store(to + 4, high);
}
inline void clear(uint32_t* at) {
  store(at, Four{});
  store(at + 4, Four{});
}
// Is one of `theirs` larger?
inline bool any_larger(const uint32_t* mine, const uint32_t* theirs) {
  using Floats = float __attribute__((vector_size(16)));
  Four const larger = (load(theirs) > load(mine)) | (load(theirs + 4) > load(mine + 4));
  return __builtin_ia32_movmskps(reinterpret_cast<Floats>(larger)) != 0;  // the top bits of four lanes
}
// Returns whether any of `mine` became larger.
inline bool join(uint32_t* mine, const uint32_t* theirs) {
  Four const low = load(mine);
  Four const high = load(mine + 4);
  Four const their_low = load(theirs);
  Four const their_high = load(theirs + 4);
  Four const low_grows = their_low > low;
  Four const high_grows = their_high > high;
  using Floats = float __attribute__((vector_size(16)));
  // The top bits of four lanes.
  if (__builtin_ia32_movmskps(reinterpret_cast<Floats>(low_grows | high_grows)) == 0) return false;
  store(mine, (their_low & low_grows) | (low & ~low_grows));
  store(mine + 4, (their_high & high_grows) | (high & ~high_grows));
  return true;
}

}  // namespace eight

class VectorClock {
 public:
  ClockView view() const { return {size_ != 0 ? array_->clock : nullptr, size_}; }

  uint32_t get(uint32_t slot) const {
    const Array* const a = __atomic_load_n(&array_, __ATOMIC_ACQUIRE);
    return a != nullptr && slot < a->capacity ? __atomic_load_n(&a->clock[slot], __ATOMIC_RELAXED) : 0;
  }

  void set(uint32_t slot, uint32_t clock) {
    reserve(slot + 1);
    __atomic_store_n(&array_->clock[slot], clock, __ATOMIC_RELAXED);
    if (slot >= size_) size_ = slot + 1;
  }

  // --- Of a clock that is not empty, and so has room for eight entries at least.

  const uint32_t* entries() const { return array_->clock; }
  // `get` of one of the first eight.
  uint32_t one_of_eight(uint32_t slot) const {
    return __atomic_load_n(&array_->clock[slot], __ATOMIC_RELAXED);
  }
  // `join` of so many: behind the first `size` there are zeroes.
  bool join_eight(const uint32_t* others, uint32_t size) {
    if (!eight::join(array_->clock, others)) return false;
    if (size > size_) size_ = size;
    return true;
  }
  // `set` of an entry that is there already.
  void update(uint32_t slot, uint32_t clock) {
    __atomic_store_n(&array_->clock[slot], clock, __ATOMIC_RELAXED);
  }

  // Returns whether anything was learnt.
  bool join(const VectorClock& other) { return join(other.view()); }
  bool join(ClockView other) {
    if (other.size == 0) return false;
    __builtin_assume(other.clock != nullptr);
    if (__builtin_expect(other.size > eight::kEntries || array_ == nullptr, 0)) return join_many(other);
    if (other.size > size_) size_ = other.size;
    return eight::join(array_->clock, other.clock);
  }

  void assign(const VectorClock& other) { assign(other.view()); }
  void assign(ClockView other) {
    reserve(other.size);
    for (uint32_t i = 0; i < other.size; ++i) array_->clock[i] = other.clock[i];
    for (uint32_t i = other.size; i < size_; ++i) array_->clock[i] = 0;
    size_ = other.size;
  }

  void clear() {
    for (uint32_t i = 0; i < size_; ++i) array_->clock[i] = 0;
    size_ = 0;
  }

  bool empty() const { return size_ == 0; }
  uint32_t size() const { return size_; }

  void destroy() {
    for (Array* a = array_; a != nullptr;) {
      Array* const outgrown = a->outgrown;
      platform::release(a, bytes(a->capacity));
      a = outgrown;
    }
    array_ = nullptr;
    size_ = 0;
  }

 private:
  struct Array {
    Array* outgrown;
    uint32_t capacity;
    uint32_t reserved;
    uint32_t clock[];
  };

  __attribute__((preserve_most, noinline, cold)) bool join_many(ClockView other) {
    reserve(other.size);
    if (other.size > size_) size_ = other.size;
    uint32_t* const mine = array_->clock;
    uint32_t learnt = 0;
    for (uint32_t i = 0; i < other.size; ++i) {
      uint32_t const m = mine[i];
      uint32_t const t = other.clock[i];
      learnt |= static_cast<uint32_t>(t > m);
      mine[i] = t > m ? t : m;
    }
    return learnt != 0;
  }

  // Whole cache lines: each thread writes its clock with every release, and the next one's must not be taken
  // away from it by that. (Blocks of such sizes stand at multiples of a line: memory.cc.)
  static size_t bytes(uint32_t capacity) {
    return platform::in_lines(sizeof(Array) + capacity * sizeof(uint32_t));
  }

  void reserve(uint32_t size) {
    uint32_t const have = array_ != nullptr ? array_->capacity : 0;
    if (size <= have) return;
    uint32_t capacity = have < eight::kEntries ? eight::kEntries : have * 2;
    while (capacity < size) capacity *= 2;
    auto* const grown = static_cast<Array*>(platform::allocate(bytes(capacity)));
    grown->capacity = capacity;
    grown->outgrown = array_;
    for (uint32_t i = 0; i < size_; ++i) grown->clock[i] = array_->clock[i];
    __atomic_store_n(&array_, grown, __ATOMIC_RELEASE);
  }

  Array* array_ = nullptr;
  uint32_t size_ = 0;  // entries from here on are 0
};

}  // namespace deadheat::watch
