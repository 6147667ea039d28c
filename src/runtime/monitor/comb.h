// Which bytes a monitor is about: all of a stretch, or the teeth of a comb.
//
// A loop over one member of an array of structs, a matrix's column or every second element accesses `width`
// bytes out of every `stride`, from `address` to `address + size`, and nothing in between: what other threads
// do there is their own business. So a comb is never treated as the stretch it lies in. `first_common` says
// yes only if there is a byte that both have, and which one. It is exact for a comb and a stretch and for two
// combs of the same stride, by arithmetic; of two combs of different strides it tries kTeethTried of the one
// with fewer teeth, and says no if those have nothing in common: that can miss a race, and never make one up.
//
// Tested by tests/comb_test.cc, byte by byte, on all small combs.
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

struct Comb {
  uintptr_t address;
  uint64_t size;    // from the first byte to the last
  uint64_t stride;  // 0: all bytes; else greater than `width`, and a tooth ends at the end
  uint64_t width;   // of a tooth

  bool is_stretch() const { return stride == 0; }
  uintptr_t end() const { return address + size; }
  uint64_t teeth() const { return is_stretch() ? 1 : (size - width) / stride + 1; }
  bool contains(uintptr_t byte) const {
    return byte >= address && byte < end() && (is_stretch() || (byte - address) % stride < width);
  }
  // The tooth that `byte` belongs to. REQUIRES: contains(byte).
  Comb tooth_at(uintptr_t byte) const {
    if (is_stretch()) return *this;
    return {address + (byte - address) / stride * stride, width, 0, 0};
  }
};

inline constexpr uint64_t kTeethTried = 512;

// What a loop accesses: `count` times `size` bytes, each `stride` after (or before) the last. False if that
// is nothing, or does not lie below `limit`.
bool comb_of_loop(uintptr_t first, uint64_t size, int64_t stride, uint64_t count, uintptr_t limit,
                  Comb* comb);

// The first byte, roughly, that both have.
bool first_common(const Comb& a, const Comb& b, uintptr_t* byte);

}  // namespace deadheat::monitor
