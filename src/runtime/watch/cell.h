// What a granule remembers: the accesses that can still be part of a race.
//
// A record is one such access. Two records fit into a cell; more, and everything about atomics, locks and
// other synchronisation objects that live in the granule, go to a FatCell that the cell then points to.
// Nothing is ever evicted: a record leaves only when a later one supersedes it (src/detect/access_rules.h) or
// the memory is freed and given out again.
//
// Most memory is private most of the time, and most shared memory is one write and one read: two records are
// the common case, and keep the shadow at twice the program's memory.
#pragma once

#include <stdint.h>

#include "detect/access_rules.h"
#include "runtime/abi.h"
#include "runtime/platform/spinlock.h"
#include "runtime/watch/epoch.h"
#include "runtime/watch/stacks.h"

namespace deadheat::watch {

struct Record {
  Epoch epoch;
  StackId stack = 0;
  uint8_t mask = 0;  // bytes of the granule
  detect::AccessKind kind;
};
static_assert(sizeof(Record) == 16);

inline constexpr uint64_t kHalfShapeBits = kShapeBits / 2;
inline constexpr unsigned kHalfShapeShift = 10;

// REQUIRES: the record is not atomic.
constexpr uint64_t pack_half(const Record& r, uint32_t half_shape) {
  return (r.epoch.bits() << kDhEpochShift) | (static_cast<uint64_t>(half_shape) << kHalfShapeShift) |
         (r.kind.write ? kDhWriteBit : 0) | r.mask;
}
constexpr Record unpack_half(uint64_t half, StackId stack) {
  Record r;
  r.epoch = Epoch::from_bits(half >> kDhEpochShift);
  r.stack = stack;
  r.mask = static_cast<uint8_t>(half);
  r.kind.write = (half & kDhWriteBit) != 0;
  return r;
}
constexpr ShapeId shape_of(const DhCell& cell) {
  constexpr uint32_t kMask = (1u << kHalfShapeBits) - 1;
  return ((static_cast<uint32_t>(cell.half[0] >> kHalfShapeShift) & kMask) << kHalfShapeBits) |
         (static_cast<uint32_t>(cell.half[1] >> kHalfShapeShift) & kMask);
}

struct SyncVar;

// The long form of a cell. `owner` is the cell that points here, null while on the free list; whoever finds a
// FatCell through a cell locks it and then looks whether the cell still points to it.
//
// `sequence` is odd while the records are being changed: whoever only wants to know whether an access is
// covered reads them without the lock, and believes what it read if the sequence stood still. So data that
// many threads read is not a queue.
struct FatCell {
  platform::Spinlock lock;
  uint32_t sequence = 0;
  uint16_t count = 0;
  uint16_t capacity = 0;
  DhCell* owner = nullptr;
  Record* records = nullptr;
  SyncVar* syncs = nullptr;
  FatCell* next_free = nullptr;
  Record few[3];  // where `records` stand as long as they fit

  void reserve(unsigned size);
  void release_records();
};

// REQUIRES: the FatCell is locked.
class ChangingRecords {
 public:
  // x86 keeps the order of stores, so that only the compiler needs to be told.
  explicit ChangingRecords(FatCell* fat) : fat_(fat) {
    step();
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  ~ChangingRecords() { step(); }
  ChangingRecords(const ChangingRecords&) = delete;
  ChangingRecords& operator=(const ChangingRecords&) = delete;

 private:
  void step() { __atomic_store_n(&fat_->sequence, fat_->sequence + 1, __ATOMIC_RELEASE); }
  FatCell* fat_;
};

constexpr bool is_fat(const DhCell& cell) { return (cell.half[0] & kDhFatBit) != 0; }
inline FatCell* fat_of(const DhCell& cell) { return reinterpret_cast<FatCell*>(cell.half[1]); }
inline DhCell cell_for(FatCell* fat) { return {{kDhFatBit, reinterpret_cast<uint64_t>(fat)}}; }

// Both halves at once: processors with AVX promise that an aligned 16-byte load is atomic.
inline DhCell load_cell(const DhCell* cell) {
  using Vector = long long __attribute__((vector_size(16)));
  Vector both;
  __asm__ volatile("movdqa %1, %0" : "=x"(both) : "m"(*cell) : "memory");
  return {{static_cast<uint64_t>(both[0]), static_cast<uint64_t>(both[1])}};
}

// For memory that is nobody else's: not atomic with what others do to the cell.
inline void clear_private_cell(DhCell* cell) {
  using Vector = long long __attribute__((vector_size(16)));
  __asm__ volatile("movdqa %1, %0" : "=m"(*cell) : "x"(Vector{}) : "memory");
}

inline bool compare_and_swap_cell(DhCell* cell, const DhCell& expected, const DhCell& desired) {
  bool swapped;
  uint64_t low = expected.half[0];
  uint64_t high = expected.half[1];
  __asm__ volatile("lock cmpxchg16b %1"
                   : "=@ccz"(swapped), "+m"(*cell), "+a"(low), "+d"(high)
                   : "b"(desired.half[0]), "c"(desired.half[1])
                   : "memory");
  return swapped;
}

}  // namespace deadheat::watch
