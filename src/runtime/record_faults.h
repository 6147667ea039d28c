// How a recording tells of faults that a handler of the program's took: an acquire of an object of the
// runtime's own, with one of these as its `extra`, before the handler's acquire and call-back, and another
// one when the handler has returned. Other acquires have 0 there.
#pragma once

#include <stdint.h>

enum : uint64_t {
  // A store that was counted already and has not been made: 1 + its address.
  kDhFaultWrites = 1,
  // A load that has not come to its value hook; or something else, a division.
  kDhFaultReads = UINT64_C(1) << 62,
  // Back to where it was. Code that was interrupted goes on with the counters it had in registers: what the
  // handler added to the hash is gone, and values counted before the fault are counted again.
  kDhFaultEnded = UINT64_C(1) << 63,
};
