// How often this thread holds a lock whose own memory does not say so.
//
// A small table per thread. If more locks than it has places are held at once, the others are told each time,
// which orders the same and only repeats them among the locks held.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

template <unsigned kPlaces>
struct RecursionTable {
  struct Place {
    const volatile void* lock;
    uint32_t count;
  };
  Place places[kPlaces];  // zero when the thread starts: a __thread variable has no constructor

  // True if the lock was not held before.
  bool enter(const volatile void* lock, uint32_t times = 1) {
    Place* empty = nullptr;
    for (Place& place : places) {
      if (place.lock == lock) {
        place.count += times;
        return false;
      }
      if (place.lock == nullptr && empty == nullptr) empty = &place;
    }
    if (empty != nullptr) *empty = Place{lock, times};
    return true;
  }
  // True if it is not held any more. With `all`, gives up every hold at once. `held`: how many those were.
  bool leave(const volatile void* lock, bool all = false, uint32_t* held = nullptr) {
    if (held != nullptr) *held = 1;
    for (Place& place : places) {
      if (place.lock != lock) continue;
      if (held != nullptr && all) *held = place.count;
      place.count -= all ? place.count : 1;
      if (place.count != 0) return false;
      place.lock = nullptr;
      return true;
    }
    return true;
  }
};

}  // namespace deadheat::interpose
