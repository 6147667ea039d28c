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
  // Those in use stand first; the others have no lock. Zero when the thread starts: a __thread variable has
  // no constructor. A handler may run between any two steps, and leaves all as it was: a place is in use
  // before it names its lock, and names none before it is out of use.
  Place places[kPlaces];
  uint32_t in_use;

  // True if the lock was not held before.
  bool enter(const volatile void* lock, uint32_t times = 1) {
    uint32_t const end = in_use;
    for (uint32_t i = 0; i < end; ++i) {
      if (places[i].lock != lock) continue;
      places[i].count += times;
      return false;
    }
    if (end == kPlaces) return true;
    in_use = end + 1;
    __asm__ volatile("" ::: "memory");
    places[end] = Place{lock, times};
    return true;
  }
  // True if it is not held any more. With `all`, gives up every hold at once. `held`: how many those were.
  bool leave(const volatile void* lock, bool all = false, uint32_t* held = nullptr) {
    if (held != nullptr) *held = 1;
    for (uint32_t i = in_use; i-- > 0;) {
      Place& place = places[i];
      if (place.lock != lock) continue;
      if (held != nullptr && all) *held = place.count;
      place.count -= all ? place.count : 1;
      if (place.count != 0) return false;
      remove(i);
      return true;
    }
    return true;
  }

 private:
  void remove(uint32_t index) {
    uint32_t const last = in_use - 1;
    places[index] = places[last];
    __asm__ volatile("" ::: "memory");
    places[last].lock = nullptr;
    __asm__ volatile("" ::: "memory");
    in_use = last;
  }
};

}  // namespace deadheat::interpose
