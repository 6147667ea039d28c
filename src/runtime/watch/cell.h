// What a granule remembers: the accesses that can still be part of a race.
//
// A record is one such access. Two records fit into a cell; more, and what locks, atomics that release and
// other synchronisation objects in the granule carry, go to a FatCell that the cell then points to.
// Nothing is ever evicted: a record leaves only when a later one supersedes it (src/detect/access_rules.h) or
// the memory is freed and given out again.
//
// Most memory is private most of the time, and most shared memory is one write and one read: two records are
// the common case, and keep the shadow at twice the program's memory.
#pragma once

#include <stdint.h>

#include "detect/access_rules.h"
#include "runtime/abi.h"
#include "runtime/platform/cache_line.h"
#include "runtime/platform/growing.h"
#include "runtime/watch/epoch.h"
#include "runtime/watch/stacks.h"
#include "runtime/watch/versioned_lock.h"

namespace deadheat::watch {

// The bytes of the granule of `address` that `size` bytes there take, and in higher bits those of the next
// ones. REQUIRES: size <= 56.
constexpr uint64_t bytes_at(uintptr_t address, size_t size) {
  // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): it loses sight of that in loops over ranges.
  return ((uint64_t{1} << size) - 1) << (address & 7);
}
constexpr uint8_t bytes_in_granule(uintptr_t address, size_t size) {
  return static_cast<uint8_t>(bytes_at(address, size));
}

// 12 bytes, because three of them and what else a FatCell needs make one cache line.
struct __attribute__((packed, aligned(4))) Record {
  uint64_t epoch_bits : 42 = 0;
  uint64_t mask : 8 = 0;  // bytes of the granule
  uint64_t write : 1 = 0;
  uint64_t atomic : 1 = 0;
  uint64_t reserved : 12 = 0;
  StackId stack = 0;

  // All but the stack, as one number: the fields above from the lowest bit on.
  static constexpr unsigned kMaskShift = 42;
  static constexpr uint64_t kWrite = uint64_t{1} << 50;
  static constexpr uint64_t kAtomic = uint64_t{1} << 51;
  static constexpr uint64_t kEpoch = (uint64_t{1} << kMaskShift) - 1;
  static constexpr uint64_t kMask = uint64_t{0xff} << kMaskShift;
  uint64_t bits() const {
    uint64_t all;
    __builtin_memcpy(&all, this, sizeof all);
    return all;
  }
  void set_bits(uint64_t all) { __builtin_memcpy(this, &all, sizeof all); }

  Epoch epoch() const { return Epoch::from_bits(epoch_bits); }
  detect::AccessKind kind() const { return {write != 0, atomic != 0}; }
  void set_kind(detect::AccessKind kind) {
    write = kind.write ? 1 : 0;
    atomic = kind.atomic ? 1 : 0;
  }
};
static_assert(sizeof(Record) == 12);

inline constexpr uint64_t kHalfShapeBits = kShapeBits / 2;
inline constexpr unsigned kHalfShapeShift = 10;

constexpr uint64_t pack_half(const Record& r, uint32_t half_shape) {
  return (static_cast<uint64_t>(r.epoch_bits) << kDhEpochShift) |
         (static_cast<uint64_t>(half_shape) << kHalfShapeShift) | (r.write != 0 ? kDhWriteBit : 0) |
         (r.atomic != 0 ? kDhAtomicBit : 0) | r.mask;
}
constexpr Record unpack_half(uint64_t half, StackId stack) {
  Record r;
  r.epoch_bits = half >> kDhEpochShift;
  r.stack = stack;
  r.mask = half & 0xff;
  r.write = (half & kDhWriteBit) != 0 ? 1 : 0;
  r.atomic = (half & kDhAtomicBit) != 0 ? 1 : 0;
  return r;
}
constexpr ShapeId shape_of(const DhCell& cell) {
  constexpr uint32_t kMask = (1u << kHalfShapeBits) - 1;
  return ((static_cast<uint32_t>(cell.half[0] >> kHalfShapeShift) & kMask) << kHalfShapeBits) |
         (static_cast<uint32_t>(cell.half[1] >> kHalfShapeShift) & kMask);
}

// Of the difference of two halves: what is 0 if they are accesses of one thread and kind to the same bytes,
// whatever their labels and stacks.
constexpr uint64_t kSameAccess =
    ~uint64_t{0} << (kDhEpochShift + kDhClockBits) | kDhLongBit | kDhAtomicBit | kDhWriteBit | 0xff;
// The same access with the label of `floor`.
constexpr uint64_t with_label(uint64_t half, uint64_t floor) {
  return (half & ((uint64_t{1} << kDhEpochShift) - 1)) | floor;
}
constexpr uint64_t slot_of(uint64_t half) { return half >> (64 - kDhSlotBits); }

constexpr uint64_t kHalfShape = ((uint64_t{1} << kHalfShapeBits) - 1) << kHalfShapeShift;

constexpr bool is_same(const DhCell& a, const DhCell& b) {
  return ((a.half[0] ^ b.half[0]) | (a.half[1] ^ b.half[1])) == 0;
}

constexpr DhCell with_shape(uint64_t first, uint64_t second, ShapeId shape) {
  constexpr uint32_t kLow = (1u << kHalfShapeBits) - 1;
  return {{(first & ~kHalfShape) | (static_cast<uint64_t>(shape >> kHalfShapeBits) << kHalfShapeShift),
           (second & ~kHalfShape) | (static_cast<uint64_t>(shape & kLow) << kHalfShapeShift)}};
}

// What a short cell knows of all bytes but those of `mask`. A half that has no bytes any more keeps its part
// of the pair's number, while the other half needs it.
constexpr DhCell without_bytes(const DhCell& cell, uint64_t mask) {
  uint64_t const h0 = cell.half[0] & ~mask;
  uint64_t const h1 = cell.half[1] & ~mask;
  if (((h0 | h1) & 0xff) == 0) return {};
  return {{(h0 & 0xff) != 0 ? h0 : h0 & kHalfShape, (h1 & 0xff) != 0 ? h1 : h1 & kHalfShape}};
}

inline constexpr size_t kCellsOfLine = platform::kLine / sizeof(DhCell);

struct SyncVar;

// What the first synchronisation object of a granule carries, if that is nothing but the last release of one
// thread: who knows of that release knows all that its thread knew, and need not look at the object. Only
// releases by which a thread publishes more than before are named like that: of two that publish the same
// clock the later one may know more.
class LastRelease {
 public:
  constexpr LastRelease() = default;  // not known
  // Slots of programs with few threads fit.
  constexpr LastRelease(uint32_t offset, uint32_t slot, uint32_t clock)
      : bits_(slot < kSlotsNamed ? (slot << 3 | offset) << kDhClockBits | clock : 0) {}

  bool is_known() const { return bits_ != 0; }
  uint32_t offset() const { return bits_ >> kDhClockBits & 7; }  // of the object within its granule
  uint32_t slot() const { return bits_ >> (kDhClockBits + 3); }
  uint32_t clock() const { return bits_ & ((1u << kDhClockBits) - 1); }

 private:
  static constexpr uint32_t kSlotsNamed = 1u << (32 - kDhClockBits - 3);
  uint32_t bits_ = 0;  // slot 0 is nobody's
};

// The long form of a cell: one cache line. `owner` is the cell that points here, null while on the free list;
// whoever finds a FatCell through a cell locks it and then looks whether the cell still points to it. Whoever
// only wants to know whether an access is covered, or whether there is anything to learn, looks without the
// lock (VersionedLock).
//
// Four records stand in it, which is what two threads that read and write atomically can leave behind, or
// three and the list of the synchronisation objects that live in the granule.
struct alignas(64) FatCell {
  static constexpr unsigned kFew = 4;

  VersionedLock lock;
  uint16_t count;
  uint8_t capacity_log;  // 0: the records stand here; otherwise there is room for 2^this of them elsewhere
  bool has_syncs;
  DhCell* owner;
  Record few[kFew];  // or first a pointer to more of them, or the name of the next free FatCell; last the
                     // list of syncs

  bool is_elsewhere() const { return __atomic_load_n(&capacity_log, __ATOMIC_RELAXED) != 0; }
  void* elsewhere() const {
    void* pointer;
    __builtin_memcpy(&pointer, few, sizeof pointer);
    return pointer;
  }
  void set_elsewhere(void* pointer) { __builtin_memcpy(few, &pointer, sizeof pointer); }
  Record* records() { return is_elsewhere() ? static_cast<Record*>(elsewhere()) : few; }
  // The records, without the lock: null if they are not there any more. `version` is the lock's.
  const Record* look_at_records(uint32_t version, unsigned* count_seen) const {
    unsigned const seen = *count_seen = __atomic_load_n(&count, __ATOMIC_RELAXED);
    if (__builtin_expect(!is_elsewhere(), 1)) return seen <= kFew ? few : nullptr;
    auto* const there = static_cast<const Record*>(elsewhere());
    // Followed only if it is one: memory of records stays memory of records.
    return lock.still(version) && seen <= 64 ? there : nullptr;
  }
  unsigned capacity() const { return is_elsewhere() ? 1u << capacity_log : has_syncs ? kFew - 1 : kFew; }
  // There is one record, here, and a list of syncs: all at a glance.
  bool has_one_and_syncs() const {
    uint32_t all;
    __builtin_memcpy(&all, &count, sizeof all);
    return all == (1u | 1u << 24);
  }
  // Makes room for `size` records.
  void reserve(unsigned size);
  // Records that stand elsewhere and would fit here do: who looks at them waits for one cache line less.
  void bring_back() {
    if (is_elsewhere() && count < kFew) bring_back_elsewhere();
  }
  void release_records();

  // Brings the cell up to date: it repeats the latest access, and the latest other one that is of the same
  // label or another thread's. A write stands first, where its hook looks.
  // REQUIRES: the lock is held.
  void show();
  // The same for who knows these two, as Record::bits; the latter is 0 if there is none.
  inline void show(uint64_t latest, uint64_t other);

  // While it is on the free list.
  DhCell next_free() const {
    DhCell next;
    __builtin_memcpy(&next, few, sizeof next);
    return next;
  }
  void set_next_free(const DhCell& next) { __builtin_memcpy(few, &next, sizeof next); }

  SyncVar* syncs() const { return has_syncs ? *sync_list() : nullptr; }
  SyncVar* first_sync() const { return *sync_list(); }  // REQUIRES: has_syncs
  void set_syncs(SyncVar* first);

  // It stands between the third record and the list. REQUIRES: has_syncs.
  LastRelease last_release() const {
    LastRelease release;
    __builtin_memcpy(&release, end_of_three(), sizeof release);
    return release;
  }
  // Whoever changes what a synchronisation object carries says so. REQUIRES: locked, has_syncs.
  void set_last_release(LastRelease release) { __builtin_memcpy(end_of_three(), &release, sizeof release); }

 private:
  void bring_back_elsewhere();
  char* end_of_three() const {
    static_assert(sizeof(LastRelease) == sizeof(Record) - sizeof(SyncVar*));
    return reinterpret_cast<char*>(const_cast<Record*>(few + kFew - 1));
  }
  SyncVar** sync_list() const {
    auto const end = reinterpret_cast<uintptr_t>(this) + sizeof(FatCell);
    return reinterpret_cast<SyncVar**>(end - sizeof(SyncVar*));
  }
};
static_assert(sizeof(FatCell) == 64);

// A long cell names its FatCell in one of two ways: by a pointer in the second half; or by number where the
// short form names a pair of stacks, and then both halves are free to repeat two of the accesses, so that
// hooks find what is covered without a look at the FatCell. It is by pointer while synchronisation objects
// live there, which others than the hooks must look for in the FatCell anyway; while there is no access to
// repeat; and where the numbers have run out.
constexpr bool is_fat(const DhCell& cell) { return (cell.half[0] & kDhLongBit) != 0; }
constexpr bool is_by_pointer(const DhCell& long_cell) { return (long_cell.half[0] & 0xff) == 0; }
// Does no synchronisation object live in the granule, as far as the cell alone can tell?
constexpr bool carries_nothing(const DhCell& cell) { return !is_fat(cell) || !is_by_pointer(cell); }
// What one thread alone did is kept in another way (byte_history.h), and the cell has no FatCell.
constexpr bool is_bytewise(const DhCell& cell) {
  return (cell.half[0] & cell.half[1] & kDhLongBit) != 0 && !is_by_pointer(cell);
}
using FatNumber = uint32_t;  // 0: none
constexpr FatNumber number_of(const DhCell& long_cell) {
  return is_by_pointer(long_cell) ? static_cast<FatNumber>(long_cell.half[0] >> kDhEpochShift)
                                  : shape_of(long_cell);
}
// Is all that a long cell repeats of this slot? Then others hardly come there, and the FatCell is locked at
// once; otherwise it is worth asking first without the lock whether an access is covered.
constexpr bool repeats_only(const DhCell& long_cell, uint64_t slot) {
  auto const [h0, h1] = long_cell.half;
  return slot_of(h0) == slot && (slot_of(h1) == slot || (h1 & 0xff) == 0);
}
using FatCells = platform::Growing<FatCell, kShapeBits, 15>;  // pieces of a huge page each
extern FatCells numbered_fats;
// REQUIRES: it is not bytewise.
inline FatCell* fat_of(const DhCell& cell) {
  return is_by_pointer(cell) ? reinterpret_cast<FatCell*>(cell.half[1]) : &numbered_fats[shape_of(cell)];
}
inline DhCell cell_by_pointer(FatCell* fat, FatNumber number) {
  return {{kDhLongBit | static_cast<uint64_t>(number) << kDhEpochShift, reinterpret_cast<uint64_t>(fat)}};
}
constexpr DhCell cell_by_number(FatNumber number, uint64_t first, uint64_t second) {
  return with_shape(first | kDhLongBit, second, number);
}

// Of Record::bits.
constexpr uint64_t repeated(uint64_t record) {
  return (record & Record::kEpoch) << kDhEpochShift | (record >> Record::kMaskShift & 0x3ff);
}
static_assert(kDhWriteBit == Record::kWrite >> Record::kMaskShift &&
              kDhAtomicBit == Record::kAtomic >> Record::kMaskShift);

// Both halves at once: processors with AVX promise that an aligned 16-byte load is atomic.
inline DhCell load_cell(const DhCell* cell) {
  using Vector = long long __attribute__((vector_size(16)));
  Vector both;
  __asm__ volatile("movdqa %1, %0" : "=x"(both) : "m"(*cell) : "memory");
  return {{static_cast<uint64_t>(both[0]), static_cast<uint64_t>(both[1])}};
}

// Each half by itself, not necessarily of one moment: for who then compares and swaps both.
__attribute__((always_inline)) inline DhCell load_halves(const DhCell* cell) {
  return {
      {__atomic_load_n(&cell->half[0], __ATOMIC_RELAXED), __atomic_load_n(&cell->half[1], __ATOMIC_RELAXED)}};
}

// For memory that is nobody else's, and for long cells, with the FatCell locked: not atomic with what others
// do to the cell.
inline void store_cell(DhCell* cell, const DhCell& value) {
  using Vector = long long __attribute__((vector_size(16)));
  Vector const both{static_cast<long long>(value.half[0]), static_cast<long long>(value.half[1])};
  __asm__ volatile("movdqa %1, %0" : "=m"(*cell) : "x"(both) : "memory");
}

// What shows two accesses, as Record::bits; the latter is 0 if there is none.
constexpr DhCell cell_that_shows(FatNumber number, uint64_t latest, uint64_t other) {
  bool const other_first = (~latest & other & Record::kWrite) != 0;
  uint64_t const first = repeated(other_first ? other : latest);
  uint64_t const second = repeated(other_first ? latest : other);
  return cell_by_number(number, first, second);
}

inline void FatCell::show(uint64_t latest, uint64_t other) {
  DhCell const seen = load_halves(owner);
  FatNumber const number = number_of(seen);
  if (__builtin_expect(number == 0, 0)) return;
  if (__builtin_expect(has_syncs, 0)) return store_cell(owner, cell_by_pointer(this, number));
  store_cell(owner, cell_that_shows(number, latest, other));
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
