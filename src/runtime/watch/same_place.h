// Is an access made at the same place as one before, whose stacks have a number already?
//
// A counter is changed again and again at the same place in the code. Then the number of its cell's pair of
// stacks stays what it is, and neither the place nor the pair needs to be looked up. Numbers never change
// their meaning, so what stands here stays true.
#pragma once

#include <stdint.h>

#include "runtime/watch/quick.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// One per OS thread. REQUIRES, for all that looks at it: the thread is inside the runtime, so that no
// signal's handler changes it.
class SamePlaces {
 public:
  // `size_and_kind` as in quick.h.
  __attribute__((always_inline)) bool has(const Thread* thread, uint32_t number, uintptr_t pc,
                                          uint32_t size_and_kind) const {
    const Place& place = place_[index(number, pc)];
    return __builtin_expect(place.number == number, 1) &&
           __builtin_expect(place.key == quick::site_key(pc, size_and_kind), 1) &&
           __builtin_expect(place.context == context(thread), 1);
  }
  __attribute__((always_inline)) void add(const Thread* thread, uint32_t number, uintptr_t pc,
                                          uint32_t size_and_kind) {
    place_[index(number, pc)] = {quick::site_key(pc, size_and_kind), context(thread), number};
  }

 private:
  struct Place {
    uint64_t key;
    uint64_t context;
    uint32_t number;
  };
  static constexpr unsigned kPlaces = 32;
  static uint32_t index(uint32_t number, uintptr_t pc) {
    return (static_cast<uint32_t>(pc) ^ number) % kPlaces;
  }
  static uint64_t context(const Thread* thread) {
    return quick::site_context(thread->hot->next_frame[-1].context, thread->lockset);
  }

  Place place_[kPlaces];
};

}  // namespace deadheat::watch
