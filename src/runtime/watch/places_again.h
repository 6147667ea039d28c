// Where accesses are made again and again (again.h): one table per thread, direct-mapped.
#pragma once

#include <stdint.h>

#include "runtime/watch/stacks.h"

namespace deadheat::watch {

struct PlacesAgain {
  // The first stack of the pair `shape`, or with kSecond the second one, is that of an access at `pc`, called
  // from `frames`, under `locks`.
  // Who makes an access, the pc alone tells: what is called there is always the same hook.
  struct Entry {
    uintptr_t pc;
    StackId frames;
    LocksetId locks;
    uint32_t shape;  // 0: nothing known here
  };
  static constexpr uint32_t kSecond = 1u << 31;
  static constexpr unsigned kEntries = 512;
  Entry entry[kEntries];

  // Whether to learn what is not known here: a location that is read in turn at several places is asked about
  // again and again, for nothing. One of four times, and not at regular intervals, which might be those of a
  // loop.
  bool shall_learn() {
    wanted += 0x9E3779B1u;
    return wanted < 1u << 30;
  }
  uint32_t wanted = 0;

  static constexpr uint32_t index(uintptr_t pc, uint32_t shape) {
    return (static_cast<uint32_t>(pc) ^ shape) % kEntries;
  }
};

// Where bytes join others that were touched elsewhere: halves of a word that a function writes one after the
// other, or hands out to be written.
struct JoinsAgain {
  // An access at `pc`, called from `frames`, under `locks`, makes `next` of the pair `shape` whose first
  // record stands alone.
  struct Entry {
    uintptr_t pc;
    StackId frames;
    LocksetId locks;
    uint64_t what;  // 0: nothing known here
    ShapeId next;
  };
  static constexpr unsigned kEntries = 512;
  Entry entry[kEntries];

  // The pair, the bytes of that record, and those of the access: one number, which needs one register.
  static constexpr uint64_t what(ShapeId shape, uint64_t half, uint64_t bytes) {
    return shape | (half & 0xff) << 40 | bytes << 32;
  }
  static constexpr uint32_t index(uintptr_t pc, uint64_t what) {
    return static_cast<uint32_t>(pc ^ what ^ what >> 32) % kEntries;
  }
};

}  // namespace deadheat::watch
