// A vector clock in the runtime's own memory: for each slot, the latest clock that is known to be ordered
// before.
//
// The owner writes; another thread may read single entries at any time (`get` is safe while `set` and `join`
// run), which is what slot reuse needs. Arrays that were outgrown are kept for that reader until the clock is
// destroyed.
#pragma once

#include <stdint.h>

#include "runtime/platform/memory.h"

namespace deadheat::watch {

// Some entries, wherever they stand.
struct ClockView {
  const uint32_t* clock;
  uint32_t size;
};

class VectorClock {
 public:
  ClockView view() const { return {array_ != nullptr ? array_->clock : nullptr, size_}; }

  uint32_t get(uint32_t slot) const {
    const Array* const a = __atomic_load_n(&array_, __ATOMIC_ACQUIRE);
    return a != nullptr && slot < a->capacity ? __atomic_load_n(&a->clock[slot], __ATOMIC_RELAXED) : 0;
  }

  void set(uint32_t slot, uint32_t clock) {
    reserve(slot + 1);
    __atomic_store_n(&array_->clock[slot], clock, __ATOMIC_RELAXED);
    if (slot >= size_) size_ = slot + 1;
  }

  // Returns whether anything was learnt.
  bool join(const VectorClock& other) { return join(other.view()); }
  bool join(ClockView other) {
    if (other.size == 0) return false;
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

  static size_t bytes(uint32_t capacity) { return sizeof(Array) + capacity * sizeof(uint32_t); }

  void reserve(uint32_t size) {
    uint32_t const have = array_ != nullptr ? array_->capacity : 0;
    if (size <= have) return;
    uint32_t capacity = have < 8 ? 8 : have * 2;
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
