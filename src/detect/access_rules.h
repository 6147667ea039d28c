// The three questions a happens-before detector asks of two accesses, in one place for the online and the
// offline ones.
//
// FastTrack (Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection") keeps, per
// location, the last write and the last read; that is enough because an access that is superseded can never
// again be part of a *first* race. These rules say the same with atomics in the picture, per access instead
// of per field:
//
//   conflict    they touch common bytes, one of them writes, and not both are atomic;
//   supersede   a later access B that is ordered after A and at least as strong takes A's place: whatever
//   conflicts with A
//               and is unordered with A is then also unordered with B (B ordered before it would order A
//               before it), and conflicts with B (B is at least as strong);
//   cover       an earlier access A of the same thread makes a new access B needless: A is at least as
//   strong, and nobody
//               can tell them apart, because no release between them was or can be observed (detect/spans.h).
//
// Freestanding: the runtime inside the user's program uses this header.
#pragma once

#include <stdint.h>

namespace deadheat::detect {

struct AccessKind {
  bool write = false;
  bool atomic = false;

  friend constexpr bool operator==(AccessKind, AccessKind) = default;
};

constexpr bool conflict(AccessKind a, AccessKind b) {
  return (a.write || b.write) && !(a.atomic && b.atomic);
}

// Does everything that conflicts with `b` also conflict with `a`?
constexpr bool at_least_as_strong(AccessKind a, AccessKind b) {
  return (a.write || !b.write) && (!a.atomic || b.atomic);
}

}  // namespace deadheat::detect
