// What a synchronisation object carries: a vector clock that stands in the object itself while few threads
// are involved, because objects are many and hot.
//
// Guarded by the lock of the granule. `all_known_to` may also be asked without it, between two looks at the
// lock's version: it follows no pointer.
#pragma once

#include <stdint.h>

#include "runtime/platform/memory.h"
#include "runtime/watch/vector_clock.h"

namespace deadheat::watch {

class SyncClock {
 public:
  ClockView view() const { return {capacity_ > kFew ? many_ : few_, size_}; }
  bool empty() const { return size_ == 0; }
  uint32_t size() const { return size_; }
  // The entries if there are no more than eight, null otherwise.
  const uint32_t* eight_at_most() const { return __builtin_expect(capacity_ <= kFew, 1) ? few_ : nullptr; }

  void set(uint32_t slot, uint32_t clock) {
    reserve(slot + 1);
    entries()[slot] = clock;
    if (slot >= size_) size_ = slot + 1;
  }

  // `set` of an entry that is there already.
  void update(uint32_t slot, uint32_t clock) { entries()[slot] = clock; }

  void join(const VectorClock& clock) {
    ClockView const other = clock.view();
    if (__builtin_expect(other.size > kFew || capacity_ > kFew || other.size == 0, 0))
      return join_many(other);
    eight::join(few_, other.clock);
    if (other.size > size_) size_ = other.size;
  }

  void assign(const VectorClock& clock) {
    if (clock.empty() || !assign_eight(clock)) assign_many(clock.view());
  }

  // `assign` where both are of eight at most; false: nothing was done. REQUIRES: `clock` is not empty.
  bool assign_eight(const VectorClock& clock) {
    ClockView const other{clock.entries(), clock.size()};
    if (__builtin_expect(other.size > kFew, 0) || __builtin_expect(capacity_ > kFew, 0)) return false;
    eight::copy(few_, other.clock);
    size_ = other.size;
    return true;
  }

  void clear() {
    if (__builtin_expect(capacity_ > kFew, 0)) return assign_many({nullptr, 0});
    eight::clear(few_);
    size_ = 0;
  }

  // Would `clock` learn nothing from this? May say no where that is not known at a glance.
  bool all_known_to(const VectorClock& clock) const {
    if (__atomic_load_n(&size_, __ATOMIC_RELAXED) == 0) return true;
    if (__atomic_load_n(&capacity_, __ATOMIC_RELAXED) > kFew || clock.empty()) return false;
    return !eight::any_larger(clock.entries(), few_);
  }

  void destroy() {
    if (capacity_ > kFew) platform::release(many_, capacity_ * sizeof(uint32_t));
    capacity_ = 0;
    size_ = 0;
  }

 private:
  static constexpr uint32_t kFew = eight::kEntries;

  uint32_t* entries() { return capacity_ > kFew ? many_ : few_; }

  __attribute__((preserve_most, noinline, cold)) void join_many(ClockView other) {
    reserve(other.size);
    uint32_t* const mine = entries();
    for (uint32_t i = 0; i < other.size; ++i) {
      if (other.clock[i] > mine[i]) mine[i] = other.clock[i];
    }
    if (other.size > size_) size_ = other.size;
  }
  __attribute__((preserve_most, noinline, cold)) void assign_many(ClockView other) {
    reserve(other.size);
    uint32_t* const mine = entries();
    for (uint32_t i = 0; i < other.size; ++i) mine[i] = other.clock[i];
    for (uint32_t i = other.size; i < size_; ++i) mine[i] = 0;
    size_ = other.size;
  }

  // Entries beyond `size_` are 0.
  void reserve(uint32_t size) {
    if (size <= kFew || size <= capacity_) return;
    uint32_t capacity = capacity_ < 16 ? 16 : capacity_ * 2;
    while (capacity < size) capacity *= 2;
    auto* const grown = static_cast<uint32_t*>(platform::allocate(capacity * sizeof(uint32_t)));
    uint32_t* const old = entries();
    for (uint32_t i = 0; i < size_; ++i) grown[i] = old[i];
    if (capacity_ > kFew) platform::release(old, capacity_ * sizeof(uint32_t));
    many_ = grown;
    capacity_ = capacity;
  }

  uint32_t size_;  // entries from here on are 0
  uint32_t capacity_;
  union {
    uint32_t few_[kFew];
    uint32_t* many_;
  };
};

}  // namespace deadheat::watch
